//! How wide people read.

use std::io::{self, IsTerminal};

/// Lines longer than this are hard to read, however wide the terminal.
const MAX_WIDTH: usize = 100;

/// As wide as COLUMNS or the terminal says. What goes elsewhere is not wrapped, so that a line stays
/// a line.
pub(crate) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || {
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let unknown = if io::stdout().is_terminal() { MAX_WIDTH } else { usize::MAX };
        Some(width.filter(|width| *width > 0).map_or(unknown, |width| width.min(MAX_WIDTH)))
    };
    told.or_else(terminal).unwrap_or(MAX_WIDTH)
}
