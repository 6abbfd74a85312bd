//! Where the reading of each file stands, across restarts of the agent and renames of the file.

use std::{collections::BTreeMap, fs::Metadata, os::unix::fs::MetadataExt as _, path::PathBuf};

use serde::{Deserialize, Serialize};

/// A file, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId {
    /// The file system that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl FileId {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }
}

/// Where the reading of a file stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The file.
    pub id: FileId,
    /// Its path when it was last seen.
    pub path: PathBuf,
    /// Its first bytes as a number: numbers of files are given again.
    pub head: u64,
    /// What comes before was searched.
    pub offset: u64,
    /// An incident that was told reaches up to here.
    pub told: u64,
}

/// The positions of all files.
pub type Positions = BTreeMap<FileId, Position>;
