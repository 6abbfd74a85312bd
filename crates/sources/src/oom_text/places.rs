//! Where in a text a message may be, for who reads a log as it is written and cannot look at each line.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use whyoom_trace::{Event, EventSink, Tables};

use super::{failure, formats::FORMATS, known, scan};

/// No anchor is longer: who searches a text in pieces lets them overlap by so much.
pub const LONGEST_ANCHOR: usize = 128;

/// What tells of a failure; settings alone do not.
#[expect(clippy::expect_used, reason = "the anchors are constants, and every test builds this")]
static FAILURES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let formats = FORMATS.iter().flat_map(|format| format.anchors).copied();
    let known = known::ROWS.iter().map(|row| row.anchor);
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(formats.chain(known).chain(failure::ANCHORS.iter().copied()))
        .expect("the anchors of this crate")
});

/// The places where a message may start, in order. Most of them are none: see [`has_message`].
pub fn places(bytes: &[u8]) -> impl Iterator<Item = usize> {
    FAILURES.find_iter(bytes).map(|found| found.start())
}

/// Whether a text has a message that whyoom knows, or more places than are looked at.
#[must_use]
pub fn has_message(text: &[u8]) -> bool {
    let summary = scan(text, "", &mut Tables::default(), &mut Nothing);
    summary.is_ok_and(|summary| summary.messages > 0 || summary.passed_over > 0)
}

struct Nothing;

impl EventSink for Nothing {
    fn event(&mut self, _: &Event, _: &Tables) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_and_other_words_are_not_one() {
        let text =
            b"step 1\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
        assert_eq!(places(text).next(), Some(13));
        assert!(has_message(text));
        assert!(!has_message(b"a run with enough memory\n"));
        assert_eq!(places(b"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n").next(), None);
    }

    #[test]
    fn no_anchor_is_longer() {
        let longest = (0..FAILURES.patterns_len()).map(|_| FAILURES.max_pattern_len()).max();
        assert!(longest.is_some_and(|length| length < LONGEST_ANCHOR), "{longest:?}");
    }
}
