//! What lies in a recording's folder beside the recording, and in a folder of `whyoom attach`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use whyoom_files::untrusted;
use whyoom_reading::{TORCH_FOLDER, tells_referrers};

/// The file that makes a folder one of `whyoom attach`.
pub(crate) const ATTACHED: &str = "attach.json";
/// It is a few lines.
const LONGEST_ATTACHED: u64 = 64 << 10;

/// The process that a folder of `whyoom attach` tells of; nothing where it is not one.
pub(crate) fn process_in(folder: &Path) -> Option<u32> {
    let bytes = untrusted::read_entry(&folder.join(ATTACHED), LONGEST_ATTACHED).ok()?;
    serde_json::from_slice(&bytes).ok().map(|attached: Attached| attached.pid)
}

/// Of what `whyoom attach` keeps, what others need.
#[derive(Deserialize)]
struct Attached {
    pid: u32,
}

/// PyTorch's snapshots beside a recording, in the order of their names.
pub(crate) fn snapshots(recording: &Path) -> Vec<PathBuf> {
    let folder = recording.join(TORCH_FOLDER);
    // A link would lead to files that whoever made the recording could not read.
    let is_ours = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
    let entries = is_ours.then(|| fs::read_dir(folder)).into_iter().flatten().flatten().flatten();
    let is_snapshot = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "pickle");
    let mut snapshots: Vec<_> = entries.map(|entry| entry.path()).filter(is_snapshot).collect();
    snapshots.sort();
    snapshots
}

/// The files that Python tells it in.
pub(crate) fn keepers_files(recording: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(recording).into_iter().flatten().flatten();
    entries
        .filter(|entry| tells_referrers(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
}
