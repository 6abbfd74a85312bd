//! What others may know of this process: how far it is, and what it has exported last.
//!
//! A file beside the others', named after the process: the number of operations, then the number of
//! a descriptor plus one, or zero. A SIGKILL loses what was done since the last write.

use std::{
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom},
    os::{
        fd::{OwnedFd, RawFd},
        unix::fs::FileExt,
    },
    path::{Path, PathBuf},
};

use super::random::Random;

pub(super) struct Progress {
    folder: PathBuf,
    file: File,
    operations: u64,
}

impl Progress {
    pub(super) fn open(shared_name: &Path) -> anyhow::Result<Self> {
        let own = shared_name.with_added_extension(std::process::id().to_string());
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&own)?;
        // An earlier process of the same number may have left it: its operations count too.
        let operations = read_word(&file, 0).unwrap_or_default();
        let folder = own.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { folder, file, operations })
    }

    /// Counts operations, and says what can be imported.
    pub(super) fn add(&mut self, operations: u64, export: Option<RawFd>) -> anyhow::Result<()> {
        self.operations += operations;
        let descriptor = export.map_or(0, |export| export as u64 + 1);
        let words = [self.operations.to_ne_bytes(), descriptor.to_ne_bytes()];
        Ok(self.file.write_all_at(words.as_flattened(), 0)?)
    }

    /// A descriptor of memory that some process, perhaps dead by now, said that it exports.
    pub(super) fn foreign_export(&self, random: &mut Random) -> Option<OwnedFd> {
        let names: Vec<PathBuf> =
            fs::read_dir(&self.folder).ok()?.flatten().map(|entry| entry.path()).collect();
        let name = names.get(random.index(names.len()))?;
        let pid: u32 = name.extension()?.to_str()?.parse().ok()?;
        let descriptor = read_word(&File::open(name).ok()?, 8)?.checked_sub(1)?;
        reopen(pid, descriptor)
    }
}

fn read_word(file: &File, offset: u64) -> Option<u64> {
    let mut word = [0; 8];
    file.read_exact_at(&mut word, offset).ok()?;
    Some(u64::from_ne_bytes(word))
}

/// Another process's descriptor, as if it had been sent over a socket. Opened through `/proc` a
/// file stands at its beginning; a sent descriptor would stand where the sender's does.
fn reopen(pid: u32, descriptor: u64) -> Option<OwnedFd> {
    let facts = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
    let position = facts.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse().ok()?;
    let path = format!("/proc/{pid}/fd/{descriptor}");
    let mut file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    file.seek(SeekFrom::Start(position)).ok()?;
    Some(file.into())
}
