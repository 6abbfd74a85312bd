//! Text that others wrote, as it may be shown to people.

use std::borrow::Cow;

/// What stands in place of a character that steers.
const REPLACED: char = '\u{fffd}';
/// What stands in place of an escape: people see that there was one.
const ESCAPE: char = '␛';

/// Whether a character moves the cursor, changes the terminal, or turns or breaks the line.
#[must_use]
pub fn is_steering(one: char) -> bool {
    one.is_control()
        || matches!(
            one,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// A name or a line, without the characters that steer a terminal: each is replaced, so that it can be seen
/// that it was there.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, is_steering)
}

/// The same for text of several lines, which stay lines.
#[must_use]
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |one| one != '\n' && is_steering(one))
}

fn replaced(text: &str, steers: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&steers) {
        return Cow::Borrowed(text);
    }
    let shown = |one| match one {
        '\u{1b}' | '\u{9b}' => ESCAPE,
        one if steers(one) => REPLACED,
        one => one,
    };
    Cow::Owned(text.chars().map(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_seen() {
        assert_eq!(visible("a\u{1b}[2Jb\nc\u{202e}d\u{7f}"), "a␛[2Jb\u{fffd}c\u{fffd}d\u{fffd}");
        assert_eq!(visible("\u{1b}]0;title\u{7}\u{9b}31m"), "␛]0;title\u{fffd}␛31m");
        assert_eq!(visible_lines("a\nb\r"), "a\nb\u{fffd}");
        for one in ['\u{61c}', '\u{200f}', '\u{2028}', '\u{202a}', '\u{2069}', '\0', '\u{85}'] {
            assert!(is_steering(one), "{one:?}");
        }
    }

    #[test]
    fn other_writing_is_left_alone() {
        for text in ["python train.py", "日本語", "שלום", "👩‍🔬", "…"] {
            assert!(matches!(visible(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
