//! The file around the document.

use std::io::{self, Write};

use base64::{engine::general_purpose::STANDARD, write::EncoderWriter};
use flate2::{Compression, write::GzEncoder};

use super::document::Document;

/// The page, built from web/ by `npm run build`.
const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");

/// Nothing may be fetched, whatever a name in the recording looks like.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline'";

/// Writes the whole file.
pub(super) fn write(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (title, text) = (escaped(document.title), escaped(&document.text));
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{title} - whyoom</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <div id=\"whyoom-app\"><pre>{text}</pre></div>"
    )?;
    write!(out, "<script id=\"whyoom-data\" type=\"application/octet-stream\">")?;
    write_data(document, out)?;
    writeln!(out, "</script>\n<script>{SCRIPT}</script>\n</body>\n</html>")
}

/// The document, compressed, in letters that mean nothing in HTML.
fn write_data(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    let letters = EncoderWriter::new(out, &STANDARD);
    let compressed = GzEncoder::new(letters, Compression::default());
    // The serializer writes a few bytes at a time.
    let mut buffered = io::BufWriter::with_capacity(1 << 16, compressed);
    serde_json::to_writer(&mut buffered, document)?;
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
