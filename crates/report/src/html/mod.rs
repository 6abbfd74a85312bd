//! The report: one HTML file that opens from disk, with everything that its page shows inside it.
//!
//! What the page reads is one document, described in web/src/data.ts and docs/json.md. It is compressed and
//! written as base64; the page itself is built from web/ and lies in assets/.

mod column;
mod document;
mod names;
mod page;
mod spaces;

use std::io::{self, Write};

use whyoom_memory::Model;
use whyoom_trace::Tables;

use self::document::Document;
use crate::{Answer, FitAnswer, ReplayAnswer, contents::contents, written::write_shown};

/// Everything that a report may show.
#[derive(Default)]
pub struct Report<'a> {
    /// What was looked at, for people: names of inputs, or a command.
    pub title: String,
    /// The verdict, and what it was made from.
    pub answer: Option<Answer<'a>>,
    /// Whether a program fits.
    pub fit: Option<&'a FitAnswer>,
    /// Memory over time, of a model that was filmed, and the names in it.
    pub memory: Option<(&'a Model, &'a Tables)>,
    /// What other allocators would have done.
    pub replay: &'a [ReplayAnswer<'a>],
    /// Why there is no more of that, for people.
    pub replay_note: Option<String>,
    /// Where a GPU was simulated, a sentence that says so.
    pub simulated: Option<String>,
}

impl Report<'_> {
    /// What who opens it sees of the run and of the machine, in words.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        let of_fit = || vec!["the command line, secrets masked".to_owned()];
        self.answer.as_ref().map_or_else(of_fit, contents)
    }
}

/// Writes the report as one HTML file.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_report_html(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    page::write(&Document::of(report)?, out)
}

/// Writes what the page of the report shows, as JSON.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_report_json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_shown(&Document::of(report)?, out)?;
    writeln!(out)
}
