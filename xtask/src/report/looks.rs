//! Pages looked at in a browser.

use std::path::Path;

use anyhow::{Context, Result};
use harness::{Look, look};

/// What a page may take to be interactive.
pub(super) const MOST_MILLISECONDS: u64 = 2000;
/// A desktop and a phone.
pub(super) const SIZES: [(&str, u32, u32); 2] = [("desktop", 1440, 900), ("phone", 390, 844)];
pub(super) const SCHEMES: [&str; 2] = ["light", "dark"];

/// A look at a page in a window of this size.
pub(super) fn looked_at(file: &Path, size: (&str, u32, u32), scheme: &'static str) -> Look {
    let (_, width, height) = size;
    let file = file.to_owned();
    Look { file, width, height, scheme, screenshot: None, has_script: true, ask: None }
}

/// The most milliseconds until one was interactive.
pub(super) fn slowest(looks: &[Look]) -> Result<u64> {
    let seen = look(looks)?;
    seen.iter().map(|seen| seen.ready).max().context("no page was opened")
}
