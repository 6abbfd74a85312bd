//! JSON as it is written, whatever the names in it: nothing in a document steers the terminal that it is shown on.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use crate::{
    paths::Paths,
    visible::{is_steering, visible},
};

/// Passes a document on to `out`. Characters that steer are escaped: who reads it gets them back.
pub fn escaped_json(out: &mut dyn Write) -> impl Write {
    Filter { out, filtered: escaped }
}

/// Passes on a document whose texts are shown as they are: characters that steer are replaced, and paths in them
/// shortened, where somebody says how.
pub fn shown_json<'a>(out: &'a mut dyn Write, paths: Option<&'a Paths>) -> impl Write + 'a {
    let shortened = move |text: &str| match paths.map(|paths| paths.shorten(text)) {
        Some(Cow::Owned(told)) => Some(shown(&told).unwrap_or(told)),
        _ => shown(text),
    };
    Filter { out, filtered: shortened }
}

/// Passes on what serde_json writes, which are whole characters: texts in pieces between its own escapes.
struct Filter<'a, F> {
    out: &'a mut dyn Write,
    filtered: F,
}

impl<F: Fn(&str) -> Option<String>> Write for Filter<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let filtered = std::str::from_utf8(bytes).ok().and_then(&self.filtered);
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
