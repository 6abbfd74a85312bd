//! Whether an advice says something, whatever the letters' case.

use anyhow::{Result, ensure};

/// Words that stand in nearly every advice: a pattern of one of them alone proves nothing.
const LOOSE: &[&str] = &[
    "batch", "before", "check", "cpu", "except", "fewer", "fraction", "free", "graph", "group",
    "half", "host", "keep", "kill", "layers", "less", "limit", "list", "memory", "part", "pin",
    "pool", "process", "rank", "share", "shape", "smaller", "stop", "threads", "wait", "worker",
];

/// What must be advised says enough to be missing.
pub(super) fn check(pattern: &str) -> Result<()> {
    for one in pattern.split('|') {
        ensure!(!one.trim().is_empty(), "“{pattern}” has an empty alternative");
        ensure!(!LOOSE.contains(&one), "“{one}” stands in nearly every advice: say what of it");
    }
    Ok(())
}

/// Whether a text has these words, from the beginning of a word, and numbers whole: “free” is not in
/// “cudaFree”, 4711 not in 47110.
pub(super) fn says(text: &str, words: &str) -> bool {
    let (text, words) = (text.to_lowercase(), words.to_lowercase());
    let is_word = char::is_alphanumeric;
    let is_digit = |c: char| c.is_ascii_digit();
    let (first, last) = (words.chars().next(), words.chars().next_back());
    text.match_indices(&words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + words.len()..].chars().next();
        let inside = first.is_some_and(is_word) && before.is_some_and(is_word);
        let cut = last.is_some_and(is_digit) && behind.is_some_and(is_digit);
        !inside && !cut
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_and_numbers_are_whole() {
        assert!(says("call cuMemFree(pointer)", "cumemfree"));
        assert!(says("use loss.item() instead", "loss.item()"));
        assert!(says("export A=expandable_segments:True", "expandable_segments:True"));
        assert!(says("in chunks", "chunk"));
        assert!(!says("cudaFree it", "free"));
        assert!(!says("kill 47110", "4711"));
    }

    #[test]
    fn a_pattern_of_one_loose_word_is_refused() {
        assert!(check("cuMemFree|cudaFree").is_ok() && check("free the buffers").is_ok());
        assert!(check("free").is_err() && check("chunk|smaller").is_err());
        assert!(check("a||b").is_err());
    }
}
