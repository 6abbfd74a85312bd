//! Colours. They are always written; whoever owns the terminal strips them where they do not belong.

use anstyle::{AnsiColor, Style};
use whyoom_causes::{Finding, Strength};
pub(crate) use whyoom_redact::terminal::{FAINT, HEADING, HEADLINE, PASTE, styled};

/// What stands before the first line if the program survived.
pub(crate) const OK: Style = AnsiColor::Green.on_default().bold();
/// What stands before a call site, as rustc has it.
pub(crate) const ARROW: Style = AnsiColor::Blue.on_default().bold();
/// What stands before a fix.
pub(crate) const FIX: Style = AnsiColor::Green.on_default().bold();
/// What stands before a note.
pub(crate) const NOTE: Style = Style::new().bold();

/// How a cause's id is shown: red for what went wrong, green for health, yellow for doubt.
pub(crate) fn cause(finding: &Finding) -> Style {
    let color = match (finding.cause, finding.strength) {
        ("healthy", _) => AnsiColor::Green,
        ("unknown", _) | (_, Strength::Likely | Strength::Contributing) => AnsiColor::Yellow,
        _ => AnsiColor::Red,
    };
    color.on_default().bold()
}
