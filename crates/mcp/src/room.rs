//! How long an answer may be: whoever asked reads it word by word.

use serde::Serialize;
use whyoom_redact::visible;

/// An answer's JSON has at most so many bytes, and its text too.
pub(crate) const LONGEST_ANSWER: usize = 4096;
/// A line to paste is whole or not there.
const LONGEST_PASTE: usize = 512;

/// How long an answer's texts and lists may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// The bytes of a text.
    pub(crate) text: usize,
    /// The items of a list.
    pub(crate) items: usize,
}

/// From the most to the least.
const ROOMS: [Room; 5] = [
    Room { text: 400, items: 8 },
    Room { text: 240, items: 6 },
    Room { text: 140, items: 4 },
    Room { text: 80, items: 2 },
    Room { text: 40, items: 1 },
];

impl Room {
    /// A text without what steers a terminal, cut.
    pub(crate) fn text(self, text: &str) -> String {
        cut(&visible(text), self.text)
    }

    /// The same for one that may be missing.
    pub(crate) fn maybe(self, text: Option<&str>) -> Option<String> {
        text.map(|text| self.text(text))
    }

    /// A line to paste: cut, it would be another one.
    pub(crate) fn paste(text: Option<&str>) -> Option<String> {
        let harmless = |text: &&str| text.len() <= LONGEST_PASTE && visible(text) == *text;
        text.filter(harmless).map(str::to_owned)
    }

    /// The first of a list.
    pub(crate) fn list<T, U>(self, items: &[T], one: impl FnMut(&T) -> U) -> Vec<U> {
        items.iter().take(self.items).map(one).collect()
    }
}

/// The longest answer that is short enough. Nothing where even the shortest is too long.
pub(crate) fn fitting<T: Serialize, E>(
    mut answer: impl FnMut(Room) -> Result<T, E>,
) -> Result<Option<T>, E> {
    for room in ROOMS {
        let answer = answer(room)?;
        if serde_json::to_vec(&answer).is_ok_and(|json| json.len() <= LONGEST_ANSWER) {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

/// A text of at most so many bytes, with a mark where something is missing.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(longest.saturating_sub('…'.len_utf8()));
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("日本語の文", 10), "日本…");
        assert_eq!(ROOMS[0].text("a\u{1b}[2J\nb"), "a␛[2J\u{fffd}b");
    }

    #[test]
    fn a_line_to_paste_is_whole_and_harmless_or_absent() {
        assert_eq!(Room::paste(Some("export A=1")).as_deref(), Some("export A=1"));
        assert_eq!(Room::paste(Some(&"x".repeat(1000))), None);
        assert_eq!(Room::paste(Some("true\nrm -rf /")), None);
    }

    #[test]
    fn the_longest_that_fits_is_taken() {
        let texts = |count: usize| {
            let long = vec!["\"".repeat(5000); count];
            fitting(|room| Ok::<_, ()>(room.list(&long, |text| room.text(text)))).unwrap()
        };
        assert_eq!(texts(1).unwrap()[0].len(), 400);
        assert_eq!(texts(8).unwrap().len(), 6);
        let never = fitting(|_| Ok::<_, ()>("x".repeat(5000))).unwrap();
        assert!(never.is_none());
    }
}
