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

/// Writes a comparison as one HTML file.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_diff_html(page: &DiffPage<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = Document::of(page)?;
    page::write(&document.shell(), &document, out)
}
