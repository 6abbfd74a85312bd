//! Things that are made once, by whichever test needs them first.

use std::{
    fmt::Write,
    fs::{self, File},
    path::PathBuf,
};

use anyhow::{Context, Result};

use crate::checkout::scratch;

/// Makes something unless it was made of the same before. Tests are processes: others wait meanwhile.
pub fn once(name: &str, stamp: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    let mark = scratch("once")?.join(name);
    once_at(&mark, stamp, make)
}

/// The same, with the file that says what it was made of.
pub(crate) fn once_at(
    mark: &std::path::Path,
    stamp: &str,
    make: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let lock = File::create(mark.with_added_extension("lock"))
        .with_context(|| format!("cannot create {}.lock", mark.display()))?;
    lock.lock()?;
    if fs::read_to_string(mark).is_ok_and(|made_of| made_of == stamp) {
        return Ok(());
    }
    // What is cut short is made again.
    let _ = fs::remove_file(mark);
    make()?;
    Ok(fs::write(mark, stamp)?)
}

/// What tells one state of files from another.
pub fn stamp_of(files: &[PathBuf]) -> Result<String> {
    let mut stamp = String::new();
    for file in files {
        let metadata = file.metadata().with_context(|| file.display().to_string())?;
        writeln!(stamp, "{} {} {:?}", file.display(), metadata.len(), metadata.modified()?)?;
    }
    Ok(stamp)
}
