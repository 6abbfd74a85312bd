//! Text for people: its styles, which are always written (whoever owns the terminal strips them where they do not
//! belong), and its width.

mod table;

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

pub use self::table::{Column, Table, shortened};
use crate::visible::{visible, visible_lines};

/// The answer.
pub const HEADLINE: Style = Style::new().bold();
/// A line to paste.
pub const PASTE: Style = AnsiColor::Cyan.on_default();
/// A heading.
pub const HEADING: Style = Style::new().bold().underline();
/// What matters less.
pub const FAINT: Style = Style::new().dimmed();

/// Something in a style: the only sequences that reach a terminal are these.
#[must_use]
pub fn styled(style: Style, what: impl Display) -> String {
    format!("{style}{}{style:#}", visible_lines(&what.to_string()))
}

/// Wraps words, with `first` before the first line and as many blanks before the others. An amount
/// stays in one line with its unit.
#[must_use]
pub fn wrap(text: &str, width: usize, first: &str) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut text = visible(text).into_owned();
    for unit in UNITS {
        text = text.replace(&format!(" {unit}"), &format!("\u{a0}{unit}"));
    }
    let rest = " ".repeat(first.chars().count());
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(&rest)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(&text, options).replace('\u{a0}', " ")
}

/// A count with its thousands apart: 1,234,567.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
