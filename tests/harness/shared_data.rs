//! Data from real GPUs, which lie beside the checkout where there are any.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::{
    checkout::shared_data_folder,
    outcome::{Need, Skip},
};

/// The folder; a check that needs it is skipped where it is not there.
pub fn shared_data() -> Result<PathBuf, Skip> {
    Need::SharedData.met().map(|()| shared_data_folder())
}

/// The snapshots in a folder, by name.
pub fn snapshots(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|kind| kind == "pickle"));
    files.sort();
    ensure!(!files.is_empty(), "no snapshots in {}", folder.display());
    Ok(files)
}
