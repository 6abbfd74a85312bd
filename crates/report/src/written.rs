//! JSON as it is written, whatever the names in it: nothing in a document steers the terminal that it is shown on.

use std::io::{self, Write};

use serde::Serialize;
use whyoom_redact::{is_steering, visible};

/// Writes a document for people and programs. Characters that steer are escaped: who reads it gets them back.
pub(crate) fn write_document(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(Filter { out, filtered: escaped }, document)?;
    writeln!(out)
}

/// The same in one line.
pub(crate) fn write_line(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(Filter { out, filtered: escaped }, document)?;
    writeln!(out)
}

/// Writes a document whose texts are shown as they are: characters that steer are replaced.
pub(crate) fn write_shown(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer(Filter { out, filtered: shown }, document)?)
}

/// Passes on what serde_json writes, which are whole characters: texts in pieces between its own escapes.
struct Filter<'a> {
    out: &'a mut dyn Write,
    filtered: fn(&str) -> Option<String>,
}

impl Write for Filter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let filtered = std::str::from_utf8(bytes).ok().and_then(self.filtered);
        self.out.write_all(filtered.as_ref().map_or(bytes, |text| text.as_bytes()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn escaped(text: &str) -> Option<String> {
    // Between values there are line breaks, in texts there are none.
    let steers = |one: char| one != '\n' && is_steering(one);
    let written = |one: char| match steers(one) {
        true => format!("\\u{:04x}", u32::from(one)),
        false => one.to_string(),
    };
    text.contains(steers).then(|| text.chars().map(written).collect())
}

fn shown(text: &str) -> Option<String> {
    // The escape of a control character is written in one piece.
    let escape = text.strip_prefix("\\u00").filter(|digits| digits.len() == 2);
    let control = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    if let Some(control) = control {
        return Some(visible(&char::from(control).to_string()).into_owned());
    }
    text.contains(is_steering).then(|| visible(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEERS: &str = "a\u{1b}[2J\u{202e}b\u{9b}\u{7f}\n\"\\u001b";

    #[test]
    fn programs_get_back_what_terminals_do_not_see() {
        let mut out = Vec::new();
        write_document(&[STEERS], &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        assert!(!text.replace('\n', "").contains(is_steering), "{text:?}");
        let back: Vec<String> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(back, [STEERS]);
    }

    #[test]
    fn pages_show_that_there_was_something() {
        let mut out = Vec::new();
        write_shown(&[STEERS], &mut out).expect("memory");
        let back: Vec<String> = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(back, ["a␛[2J\u{fffd}b␛\u{fffd}\n\"\\u001b"]);
    }
}
