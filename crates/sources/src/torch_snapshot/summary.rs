//! What an import found.

/// What an import found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotSummary {
    /// Entries of the history.
    pub entries: u64,
    /// Blocks of which the file's history and its state disagree; none in a sound file.
    pub contradictions: u64,
}
