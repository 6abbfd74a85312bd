//! The file around the document.

use std::io::{self, Write};

use base64::{engine::general_purpose::STANDARD, write::EncoderWriter};
use flate2::{Compression, write::GzEncoder};

use serde::Serialize;
use whyoom_redact::{Paths, visible};

use crate::written::write_shown;

/// The page, built from web/ by `npm run build`.
const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");

/// Of that very script, as browsers compute it; `npm run build` writes it too.
const SCRIPT_HASH: &str = include_str!("../../assets/report.js.sha256");

/// Nothing may be fetched or sent, and no script but ours runs, whatever a name in the recording looks like.
fn policy() -> String {
    let script = SCRIPT_HASH.trim();
    format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{script}'; \
         base-uri 'none'; form-action 'none'"
    )
}

/// What of a document is in the file as text too, for browsers without JavaScript.
pub(super) struct Shell<'a> {
    pub(super) title: &'a str,
    /// What the terminal shows.
    pub(super) text: &'a str,
    /// What who opens the file sees of the run and of the machine.
    pub(super) contains: &'a str,
    /// How paths in the document are shortened.
    pub(super) paths: Option<&'a Paths>,
}

/// Writes the whole file.
pub(super) fn write(
    shell: &Shell<'_>,
    document: &impl Serialize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (title, text) = (escaped(&visible(shell.title)), escaped(shell.text));
    let (policy, contains) = (policy(), escaped(shell.contains));
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>{title} - whyoom</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <div id=\"whyoom-app\"><pre>{text}</pre><p>Contains: {contains}</p></div>"
    )?;
    write!(out, "<script id=\"whyoom-data\" type=\"application/octet-stream\">")?;
    write_data(document, shell.paths, out)?;
    writeln!(out, "</script>\n<script>{SCRIPT}</script>\n</body>\n</html>")
}

/// The document, compressed, in letters that mean nothing in HTML.
fn write_data(
    document: &impl Serialize,
    paths: Option<&Paths>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let letters = EncoderWriter::new(out, &STANDARD);
    let compressed = GzEncoder::new(letters, Compression::default());
    // The serializer writes a few bytes at a time.
    let mut buffered = io::BufWriter::with_capacity(1 << 16, compressed);
    write_shown(document, paths, &mut buffered)?;
    let compressed = buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
    compressed.finish()?.finish()?;
    Ok(())
}

/// Text as it may stand in HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_ends_the_text() {
        assert_eq!(escaped("</pre><script>"), "&lt;/pre&gt;&lt;script&gt;");
    }

    #[test]
    fn the_page_ends_no_script_and_fetches_nothing() {
        for (name, part) in [("report.js", SCRIPT), ("report.css", STYLE)] {
            let lower = part.to_lowercase();
            assert!(!lower.contains("</script") && !lower.contains("</style"), "{name}");
            assert!(!lower.contains("<!--"), "{name}");
            // Names of XML vocabularies are no addresses.
            let fetched = lower.replace("http://www.w3.org/", "");
            assert!(!fetched.contains("http://") && !fetched.contains("https://"), "{name}");
        }
    }
}
