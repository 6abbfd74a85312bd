//! JSON as it is written, whatever the names in it: nothing in a document steers the terminal that it is shown on.

use std::io::{self, Write};

use serde::Serialize;
use whyoom_redact::{Paths, escaped_json, shown_json};

/// Writes a document for people and programs. Characters that steer are escaped: who reads it gets them back.
pub(crate) fn write_document(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(escaped_json(out), document)?;
    writeln!(out)
}

/// Writes a document whose texts are shown as they are: characters that steer are replaced, and paths shortened.
pub(crate) fn write_shown(
    document: &impl Serialize,
    paths: Option<&Paths>,
    out: &mut dyn Write,
) -> io::Result<()> {
    Ok(serde_json::to_writer(shown_json(out, paths), document)?)
}

#[cfg(test)]
mod tests {
    use whyoom_redact::is_steering;

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
        write_shown(&[STEERS], None, &mut out).expect("memory");
        let back: Vec<String> = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(back, ["a␛[2J\u{fffd}b␛\u{fffd}\n\"\\u001b"]);
    }

    #[test]
    fn pages_show_paths_shortened_in_whatever_text() {
        let mut out = Vec::new();
        let quoted = "File \"/home/alice/a.py\"\n\t/home/alice/b\u{1b}";
        write_shown(&[quoted], Some(&Paths::default()), &mut out).expect("memory");
        let back: Vec<String> = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(back, ["File \"~/a.py\"\n\t~/b␛"]);
    }
}
