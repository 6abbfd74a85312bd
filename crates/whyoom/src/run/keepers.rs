//! What Python tells of who keeps tensors alive, where it was asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;
use serde::Deserialize;
use whyoom_causes::Referrer;
use whyoom_files::untrusted;
use whyoom_trace::{Address, Bytes};

use crate::sitecustomize;

/// What Python runs before the program.
const STARTUP: &str = include_str!("keepers.py");
/// The folder of the start-up file, in the recording's.
pub(super) const FOLDER: &str = "keepers";

/// A process's file is not longer, and there are not more of them.
const LONGEST: u64 = 16 << 20;
const MOST_FILES: usize = 4096;

/// Makes a command's Python processes tell what keeps tensors alive. Their code lies in `home`.
pub(super) fn equip(command: &mut Command, recording: &Path, home: &Path) -> Result<()> {
    sitecustomize::equip(command, &home.join(FOLDER), STARTUP)?;
    command.env("WHYOOM_KEEPERS", recording);
    Ok(())
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

/// What Python told beside a recording. A file that cannot be read tells nothing.
pub(crate) fn keepers(recording: &Path) -> Vec<Referrer> {
    told(recording)
        .filter_map(|path| untrusted::read_entry(&path, LONGEST).ok())
        .take(MOST_FILES)
        .filter_map(|text| serde_json::from_slice::<LiveStatus>(&text).ok())
        .flat_map(|told| told.keepers.into_iter().map(move |one| one.of(told.pid)))
        .collect()
}

/// Whether Python told anything.
pub(super) fn has_told(recording: &Path) -> bool {
    told(recording).next().is_some()
}

fn told(recording: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(recording).into_iter().flatten().flatten();
    let is_told = |name: &str| name.starts_with("keepers-") && name.ends_with(".json");
    entries
        .filter(move |entry| is_told(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
}

impl ReportedReferrer {
    fn of(self, pid: u32) -> Referrer {
        let Self { kind, name, function, file, line, graph, blocks } = self;
        let blocks = blocks.into_iter().map(|(at, size)| (Address(at), Bytes(size))).collect();
        Referrer { pid, kind, name, function, file, line, graph, blocks }
    }
}
