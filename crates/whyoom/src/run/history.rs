//! PyTorch's own history beside the recording, where it was asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

/// What Python runs before the program.
const STARTUP: &str = include_str!("startup.py");
/// The file's name decides that Python runs it.
const STARTUP_NAME: &str = "sitecustomize.py";
/// The folder of the snapshots, in the recording's.
const FOLDER: &str = "torch";

/// Makes a command's Python processes keep PyTorch's history.
pub(super) fn equip(command: &mut Command, recording: &Path) -> Result<()> {
    let folder = recording.join(FOLDER);
    let startup = folder.join("startup");
    let context = || format!("cannot write into {}", startup.display());
    fs::create_dir_all(&startup).with_context(context)?;
    fs::write(startup.join(STARTUP_NAME), STARTUP).with_context(context)?;
    let mut path = vec![startup];
    path.extend(std::env::var_os("PYTHONPATH").iter().flat_map(std::env::split_paths));
    command.env("PYTHONPATH", std::env::join_paths(path)?).env("WHYOOM_TORCH_HISTORY", folder);
    Ok(())
}

/// PyTorch's snapshots beside a recording, in the order of their names.
pub(crate) fn snapshots(recording: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(recording.join(FOLDER)).into_iter().flatten().flatten();
    let is_snapshot = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "pickle");
    let mut snapshots: Vec<_> = entries.map(|entry| entry.path()).filter(is_snapshot).collect();
    snapshots.sort();
    snapshots
}
