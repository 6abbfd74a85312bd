//! A recording in one file: its folder as a tar archive, compressed with gzip.

use std::{io::Read, sync::Arc};

use thiserror::Error;
use whyoom_files::folder::{Contents, ContentsReader, Folder, Unpacked};
use whyoom_flight::CHECKPOINT;
use whyoom_report::Input;
use whyoom_sources::{
    ImportError, InputKind,
    recording::{self, Ending, RecordingError, Resolve, Unresolved},
};
use whyoom_trace::{EventSink, Tables};

use crate::{
    archive::{ArchiveError, unpack},
    beside::referrers,
    stream::begin,
};

/// Why a packed recording was not read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PackedError {
    /// It holds something else.
    #[error(
        "it is compressed, and holds no recording: pack the folder of whyoom run with tar czf NAME.tar.gz FOLDER, or \
         unpack the file that is meant"
    )]
    NoRecording,
    /// It cannot be unpacked.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// What it holds cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A snapshot beside the recording cannot be read.
    #[error("{name}: {error}")]
    Snapshot {
        /// Its name.
        name: String,
        /// Why.
        error: ImportError,
    },
}

/// Whether a file that starts with these bytes is compressed with gzip.
#[must_use]
pub fn is_packed(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(&[0x1f, 0x8b])
}

/// An unpacked recording.
#[derive(Debug)]
pub struct Packed {
    folder: Folder,
    name: String,
    snapshots: Vec<Snapshot>,
}

/// A snapshot of PyTorch's that was kept beside a recording.
#[derive(Debug)]
pub(crate) struct Snapshot {
    name: String,
    contents: Arc<dyn Contents>,
}

impl Packed {
    /// Unpacks a recording.
    ///
    /// # Errors
    /// Where it is none, is damaged or too large.
    pub fn unpack(name: &str, reader: impl Read) -> Result<Self, PackedError> {
        let mut files = unpack(reader)?;
        if !files.keys().any(|file| file.ends_with(".part") || file == recording::ENDING) {
            return Err(PackedError::NoRecording);
        }
        // No other name has a folder's.
        let in_torch = |file: &String| file.contains('/');
        let beside: Vec<String> = files.keys().filter(|file| in_torch(file)).cloned().collect();
        let beside = beside.into_iter().filter_map(|file| files.remove_entry(&file));
        let snapshots = beside.filter(|(file, _)| file.ends_with(".pickle"));
        let named = |(file, contents)| Snapshot { name: format!("{name}/{file}"), contents };
        let snapshots = snapshots.map(named).collect();
        let unpacked = Unpacked { name: name.to_owned(), files };
        let folder = Folder::Memory(Arc::new(unpacked));
        Ok(Self { folder, name: name.to_owned(), snapshots })
    }

    /// The recording's folder.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// PyTorch's snapshots beside the recording, in the order of their names.
    pub(crate) fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// Whether anything beside its events may change a verdict.
    #[must_use]
    pub fn has_more(&self) -> bool {
        let model = self.folder.entry(CHECKPOINT).exists();
        model || !self.snapshots.is_empty() || !referrers(&self.folder).is_empty()
    }

    /// Whether it was recorded in the lab.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        Ending::read(&self.folder).is_some_and(|ending| ending.simulated)
    }

    /// Reads it into a sink.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn import(
        &self,
        resolve: &mut dyn Resolve,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> Result<Input, PackedError> {
        let summary = recording::import(&self.folder, resolve, tables, sink)?;
        let name = self.name.clone();
        Ok(Input { name, kind: InputKind::Recording, notes: summary.notes })
    }

    /// Reads it into a sink with the snapshots beside it, as they were read before.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn import_all(
        &self,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> Result<(), PackedError> {
        self.import(&mut Unresolved, tables, sink)?;
        self.snapshots.iter().try_for_each(|one| one.import(tables, sink).map(drop))
    }
}

impl Snapshot {
    pub(crate) fn import(
        &self,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> Result<Input, PackedError> {
        let contents = ContentsReader::new(Arc::clone(&self.contents));
        let read = begin(&self.name, contents).and_then(|begun| begun.import(tables, sink));
        read.map_err(|error| PackedError::Snapshot { name: self.name.clone(), error })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[test]
    fn what_is_no_recording_is_refused() {
        for tar in [Vec::new(), vec![0; 1024]] {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(&tar).expect("it is written");
            let found = Packed::unpack("x", &*gzip.finish().expect("it is finished"));
            assert!(matches!(found, Err(PackedError::NoRecording)));
        }
    }
}
