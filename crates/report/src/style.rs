//! Colours. They are always written; whoever owns the terminal strips them where they do not belong.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};
use whyoom_causes::{Finding, Strength};
use whyoom_redact::visible_lines;

/// The answer.
pub(crate) const HEADLINE: Style = Style::new().bold();
/// A line to paste.
pub(crate) const PASTE: Style = AnsiColor::Cyan.on_default();
/// A heading.
pub(crate) const HEADING: Style = Style::new().bold().underline();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();

/// How a cause's id is shown: red for what went wrong, green for health, yellow for doubt.
pub(crate) fn cause(finding: &Finding) -> Style {
    let color = match (finding.cause, finding.strength) {
        ("healthy", _) => AnsiColor::Green,
        ("unknown", _) | (_, Strength::Likely | Strength::Contributing) => AnsiColor::Yellow,
        _ => AnsiColor::Red,
    };
    color.on_default().bold()
}

/// Something in a style: the only sequences that reach a terminal are these.
pub(crate) fn styled(style: Style, what: impl Display) -> String {
    format!("{style}{}{style:#}", visible_lines(&what.to_string()))
}
