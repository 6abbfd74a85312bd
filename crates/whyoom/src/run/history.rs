//! PyTorch's own history beside the recording, where it was asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::sitecustomize;

/// What Python runs before the program.
const STARTUP: &str = include_str!("startup.py");
/// The folder of the snapshots, in the recording's.
pub(crate) const FOLDER: &str = "torch";

/// Makes a command's Python processes keep PyTorch's history. Their code lies in `home`.
pub(super) fn equip(command: &mut Command, recording: &Path, home: &Path) -> Result<()> {
    let folder = recording.join(FOLDER);
    sitecustomize::own_folder(&folder)?;
    sitecustomize::equip(command, &home.join(FOLDER), STARTUP)?;
    command.env("WHYOOM_TORCH_HISTORY", folder);
    Ok(())
}

/// PyTorch's snapshots beside a recording, in the order of their names.
pub(crate) fn snapshots(recording: &Path) -> Vec<PathBuf> {
    let folder = recording.join(FOLDER);
    // A link would lead to files that whoever made the recording could not read.
    let is_ours = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    let entries = is_ours.then(|| fs::read_dir(folder)).into_iter().flatten().flatten().flatten();
    let is_snapshot = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "pickle");
    let mut snapshots: Vec<_> = entries.map(|entry| entry.path()).filter(is_snapshot).collect();
    snapshots.sort();
    snapshots
}
