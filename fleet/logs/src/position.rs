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
    /// How often it was emptied and written anew.
    pub generation: u64,
    /// What comes before was searched.
    pub offset: u64,
    /// The last bytes before that, as a number: a file whose bytes there are others was written anew.
    pub before: u64,
    /// An incident that was told reaches up to here.
    pub told: u64,
}

impl Position {
    /// Whether it is further than another of the same file.
    #[must_use]
    pub fn is_after(&self, other: &Self) -> bool {
        (self.generation, self.offset) > (other.generation, other.offset)
    }
}

/// The positions of all files.
pub type Positions = BTreeMap<FileId, Position>;
