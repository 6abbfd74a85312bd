//! The importer of PyTorch memory snapshots (`torch.cuda.memory._dump_snapshot`).
//!
//! A snapshot holds the state at its end and a ring of what led there. The importer rebuilds the
//! state at the ring's start and emits that, then the history, as events.

mod content;
mod emit;
mod error;
mod keys;
mod layout;
mod metadata;
mod ranges;
mod read;
mod rules;
mod start;
mod summary;

use std::io::Read;

pub use error::SnapshotError;
pub use summary::SnapshotSummary;
use whyoom_trace::{EventSink, ProcessId, Tables};

use crate::pickle;

/// Whether a file that starts with these bytes is a pickle.
#[must_use]
pub fn is_pickle(first_bytes: &[u8]) -> bool {
    matches!(first_bytes, [0x80, 2..=5, ..])
}

/// Imports a snapshot.
///
/// # Errors
/// When the file is not a snapshot, is damaged, or asks for more than data: see [`SnapshotError`].
pub fn import<R: Read>(
    reader: R,
    process: ProcessId,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<SnapshotSummary, SnapshotError> {
    let mut counted = CountingReader { reader, bytes: 0 };
    let document = pickle::parse(&mut counted)?;
    let content = read::read(&document, tables, counted.bytes)?;
    drop(document);
    Ok(emit::emit(&content, process, tables, sink))
}

/// Counts what passes through it.
struct CountingReader<R> {
    reader: R,
    bytes: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}
