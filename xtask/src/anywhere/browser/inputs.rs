//! What is dropped on the page: every text, snapshot and packed recording that is at hand.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use harness::{root, shared_data};

/// Folders of inputs: their files are read, and those of the folders in them.
const FIXTURES: [&str; 5] = [
    "tests/fixtures/logs",
    "tests/fixtures/snapshots",
    "tests/fixtures/imports",
    "tests/scenarios",
    "crates/whyoom/demo",
];
/// What these inputs are.
const ENDINGS: [&str; 5] = [".log", ".txt", ".pickle", ".csv", ".tar.gz"];

/// The files, and what is missing.
pub(super) fn all() -> Result<(Vec<PathBuf>, Vec<String>)> {
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    for folder in FIXTURES {
        let before = files.len();
        find(&root().join(folder), &mut files)?;
        ensure!(files.len() > before, "no inputs in {folder}");
    }
    match shared_data() {
        // Chromium reads no file whose path goes up.
        Ok(shared) => find(&shared.canonicalize()?, &mut files)?,
        Err(missing) => skipped.push(format!("texts and snapshots of others: {missing}")),
    }
    files.sort();
    Ok((files, skipped))
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if ENDINGS.iter().any(|ending| path.to_string_lossy().ends_with(ending))
            && !is_packing(&path)
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Packing problems are no inputs of the command.
fn is_packing(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "packing")
}
