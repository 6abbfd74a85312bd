//! The report: one HTML file that opens from disk, with everything that its page shows inside it.
//!
//! What the page reads is one document, described in web/src/data.ts and docs/json.md. It is compressed and
//! written as base64; the page itself is built from web/ and lies in assets/.

mod column;
mod diff;
mod document;
mod modules;
mod names;
mod page;
mod report;
mod space_json;
mod spaces;

use std::io::{self, Write};

pub use self::{
    diff::{DiffPage, RunTimeline, run_timelines, write_diff_html, write_diff_page_json},
    report::Report,
};

use self::document::Document;
use crate::written::write_shown;

/// Writes the report as one HTML file.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_report_html(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = Document::of(report)?;
    page::write(&document.shell(), &document, out)
}

/// Writes what the page of the report shows, as JSON.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_report_json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = Document::of(report)?;
    write_shown(&document, document.paths.as_ref(), out)?;
    writeln!(out)
}
