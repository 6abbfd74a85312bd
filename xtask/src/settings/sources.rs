//! The code that writes remedies.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use harness::root;

/// The files and folders in which remedies are written.
const SOURCES: &[&str] = &["crates/allocators/src/catalogue.rs", "crates/causes/src"];

/// Returns the code of each file, without its tests.
pub(crate) fn remedy_sources() -> Result<Vec<String>> {
    let mut sources = Vec::new();
    for source in SOURCES {
        collect(&root().join(source), &mut sources)?;
    }
    Ok(sources)
}

fn collect(path: &Path, sources: &mut Vec<String>) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), sources)?;
        }
        return Ok(());
    }
    let source = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    sources.push(source.split("#[cfg(test)]").next().unwrap_or_default().to_owned());
    Ok(())
}
