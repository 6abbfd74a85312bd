//! What lies in a recording's folder beside the recording, and in a folder of `whyoom attach`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use whyoom_causes::Referrer;
use whyoom_files::untrusted;
use whyoom_trace::{Address, Bytes};

/// The folder of PyTorch's snapshots.
pub(crate) const TORCH_FOLDER: &str = "torch";
/// The file that makes a folder one of `whyoom attach`.
pub(crate) const ATTACHED: &str = "attach.json";
/// It is a few lines.
const LONGEST_ATTACHED: u64 = 64 << 10;
/// A process's file of referrers is not longer, and there are not more of them.
const LONGEST: u64 = 16 << 20;
const MOST_FILES: usize = 4096;

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

/// What Python told beside a recording of who keeps tensors alive. A file that cannot be read tells nothing.
pub(crate) fn keepers(recording: &Path) -> Vec<Referrer> {
    keepers_files(recording)
        .filter_map(|path| untrusted::read_entry(&path, LONGEST).ok())
        .take(MOST_FILES)
        .filter_map(|text| serde_json::from_slice::<LiveStatus>(&text).ok())
        .flat_map(|told| told.keepers.into_iter().map(move |one| one.of(told.pid)))
        .collect()
}

/// The files that Python tells it in.
pub(crate) fn keepers_files(recording: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(recording).into_iter().flatten().flatten();
    let is_told = |name: &str| name.starts_with("keepers-") && name.ends_with(".json");
    entries
        .filter(move |entry| is_told(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
}

/// A file of them, as it is written.
#[derive(Deserialize)]
struct LiveStatus {
    pid: u32,
    keepers: Vec<ReportedReferrer>,
}

#[derive(Deserialize)]
struct ReportedReferrer {
    kind: String,
    name: String,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    graph: bool,
    blocks: Vec<(u64, u64)>,
}

impl ReportedReferrer {
    fn of(self, pid: u32) -> Referrer {
        let Self { kind, name, function, file, line, graph, blocks } = self;
        let blocks = blocks.into_iter().map(|(at, size)| (Address(at), Bytes(size))).collect();
        Referrer { pid, kind, name, function, file, line, graph, blocks }
    }
}
