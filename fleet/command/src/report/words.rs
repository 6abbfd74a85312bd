//! Figures and names as people read them.

pub(super) use whyoom_redact::terminal::grouped;

/// A longer name is cut: nobody reads it to its end, and it would hide the rows below it.
const LONGEST: usize = 80;
/// A fix may be a command with its settings.
const LONGEST_LINE: usize = 240;

/// An amount to a tenth, with its thousands apart.
pub(super) fn grouped_tenths(amount: f64) -> String {
    let written = format!("{amount:.1}");
    let (whole, tenths) = written.split_once('.').unwrap_or((&written, "0"));
    whole.parse().map_or_else(|_| written.clone(), |whole| format!("{}.{tenths}", grouped(whole)))
}

/// A count and what it counts.
pub(super) fn counted(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {what}{ending}", grouped(count))
}

/// The sign stays with its figure at the end of a line.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", 100.0 * share)
}

/// A part of all, where there may be none.
pub(super) fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// A name that others chose.
pub(super) fn short(name: &str) -> String {
    cut(name, LONGEST)
}

/// A line to paste.
pub(super) fn short_line(line: &str) -> String {
    cut(line, LONGEST_LINE)
}

fn cut(text: &str, longest: usize) -> String {
    let mut characters = text.chars();
    let kept: String = characters.by_ref().take(longest).collect();
    if characters.next().is_some() { kept + "…" } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_words() {
        assert_eq!(grouped(999), "999");
        assert_eq!(counted(1, "node"), "1 node");
        assert_eq!(counted(1_234_567, "node"), "1,234,567 nodes");
        assert_eq!(grouped_tenths(1234.96), "1,235.0");
        assert_eq!(grouped_tenths(f64::INFINITY), "inf");
        assert_eq!(percent(share(1, 3)), "33.3\u{a0}%");
        assert_eq!(percent(share(0, 0)), "0.0\u{a0}%");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(short("train"), "train");
        assert_eq!(short(&"é".repeat(LONGEST)), "é".repeat(LONGEST));
        assert_eq!(short(&"é".repeat(LONGEST + 1)), "é".repeat(LONGEST) + "…");
    }
}
