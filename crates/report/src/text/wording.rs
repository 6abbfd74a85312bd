//! Names and numbers as sentences have them.

use whyoom_causes::Finding;
use whyoom_redact::visible;

use crate::Answer;

/// A call site as a sentence has it: `train.py:61 in remember`.
pub(super) fn in_words(call_site: &str) -> String {
    let at = printable(call_site);
    match at.split_once(' ') {
        Some((line, function)) if ends_in_number(line) => format!("{line} in {function}"),
        _ => at,
    }
}

pub(super) fn shown_width(call_site: &str) -> usize {
    in_words(call_site).chars().count()
}

fn ends_in_number(line: &str) -> bool {
    line.rsplit_once(':').is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// The process and device of a finding.
pub(super) fn whose(answer: &Answer<'_>, finding: &Finding) -> String {
    format!("{}, {}", answer.tables.process_name(finding.process), finding.device)
}

/// Text from a file as it may go to a terminal: without the characters that steer one.
pub(crate) fn printable(text: &str) -> String {
    visible(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_sites_read_as_words() {
        assert_eq!(in_words("train.py:61 remember"), "train.py:61 in remember");
        assert_eq!(in_words("miner+0x13a7 in miner"), "miner+0x13a7 in miner");
        assert_eq!(in_words("backward of AddmmBackward0"), "backward of AddmmBackward0");
    }
}
