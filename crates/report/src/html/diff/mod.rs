//! Two runs compared, as one HTML file: the report's page with another document in it.
//!
//! web/src/diff/data.ts describes the document.

mod compared;
mod document;
mod timeline;
mod view;

use std::io::{self, Write};

pub use self::{
    compared::DiffPage,
    timeline::{RunTimeline, run_timelines},
};

use self::document::Document;
use super::page;
use crate::written::write_shown;

/// Writes a comparison as one HTML file.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_diff_html(page: &DiffPage<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = Document::of(page)?;
    page::write(&document.shell(), &document, out)
}

/// Writes what the page shows, as JSON.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_diff_page_json(page: &DiffPage<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = Document::of(page)?;
    write_shown(&document, Some(&page.paths), out)?;
    writeln!(out)
}
