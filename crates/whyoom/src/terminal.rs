//! What people read: how wide, and nothing in it that steers their terminal.

use std::io::{self, IsTerminal, Write};

use whyoom_redact::visible_lines;
use whyoom_report::Screen;

/// A line to the person who waits, on standard error, since a program's own output or an answer goes to the
/// other. Names in it may be others'. Where it cannot be written, the program and its exit code still come first.
pub(crate) fn say(line: &str) {
    let _ = writeln!(anstream::stderr(), "whyoom: {}", visible_lines(line));
}

/// A line of the answer itself.
pub(crate) fn print_line(line: &str) {
    anstream::println!("{}", visible_lines(line));
}

/// Colours as the person says; by default as the terminal and its variables say.
pub(crate) fn set_colour(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => return,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Lines longer than this are hard to read, however wide the terminal.
const MAX_WIDTH: usize = 100;

/// As wide as COLUMNS or the terminal says. What goes elsewhere is not wrapped, so that a line stays
/// a line.
pub(crate) fn width() -> usize {
    told().or_else(|| terminal().map(|width| width.min(MAX_WIDTH))).unwrap_or_else(unknown)
}

/// What an answer with a chart in it is written for. Files and programs read Unicode.
pub(crate) fn screen() -> Screen {
    Screen { width: width(), unicode: has_unicode() || !io::stdout().is_terminal() }
}

/// Whether the locale's letters are Unicode; the first of these variables that says something counts. What is
/// written to Windows' console always is.
pub(crate) fn has_unicode() -> bool {
    if cfg!(windows) {
        return true;
    }
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale =
        names.into_iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()));
    let locale = locale.unwrap_or_default().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The width of what goes to standard error, beside a program's own output.
pub(crate) fn error_width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stderr());
    let terminal = terminal.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0);
    told().or_else(|| terminal.map(|width| width.min(MAX_WIDTH))).unwrap_or(usize::MAX)
}

/// The same without a bound: tables may be as wide as the terminal.
pub(crate) fn full_width() -> usize {
    told().or_else(terminal).unwrap_or_else(unknown)
}

fn told() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok())
}

fn terminal() -> Option<usize> {
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    width.filter(|width| *width > 0)
}

fn unknown() -> usize {
    if io::stdout().is_terminal() { MAX_WIDTH } else { usize::MAX }
}
