//! Text that fits: harmless, and no wider than its place.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use whyoom_redact::visible;

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Cut to `room` columns, with a mark where something is missing.
pub(crate) fn cut(text: &str, room: usize, mark: char) -> String {
    let text = visible(text);
    if width(&text) <= room {
        return text.into_owned();
    }
    let mut kept = String::new();
    let mut taken = 0;
    for one in text.chars() {
        let columns = one.width().unwrap_or(0);
        if taken + columns + 1 > room {
            break;
        }
        taken += columns;
        kept.push(one);
    }
    if room > 0 {
        kept.push(mark);
    }
    kept
}

/// Filled up with spaces to `room` columns, on the left where `right` is set.
pub(crate) fn padded(text: &str, room: usize, right: bool) -> String {
    let fill = " ".repeat(room.saturating_sub(width(text)));
    if right { format!("{fill}{text}") } else { format!("{text}{fill}") }
}

/// In lines of at most `room` columns.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let text = visible(text);
    textwrap::wrap(&text, room.max(1)).into_iter().map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wider_than_its_place() {
        for room in 0..12 {
            for text in
                ["", "abc", "python train.py", "日本語のコマンド", "e\u{301}e\u{301}e\u{301}e"]
            {
                assert!(width(&cut(text, room, '…')) <= room, "{text} in {room}");
            }
        }
        assert_eq!(cut("python train.py", 7, '…'), "python…");
        assert_eq!(padded("7", 3, true), "  7");
    }

    #[test]
    fn escape_sequences_are_not_passed_on() {
        assert_eq!(cut("a\u{1b}[2Jb\nc\u{202e}d", 20, '…'), "a␛[2Jb\u{fffd}c\u{fffd}d");
        assert_eq!(wrapped("a\u{9b}b", 20), ["a␛b"]);
    }
}
