//! A recording in one file: its folder as a tar archive, compressed with gzip.

use std::{io::Read, sync::Arc};

use thiserror::Error;
use whyoom_files::folder::{Folder, Unpacked};
use whyoom_report::Input;
use whyoom_sources::{
    InputKind,
    recording::{self, Ending, RecordingError, Resolve},
};
use whyoom_trace::{EventSink, Tables};

use crate::archive::{ArchiveError, unpack};

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
}

impl Packed {
    /// Unpacks a recording.
    ///
    /// # Errors
    /// Where it is none, is damaged or too large.
    pub fn unpack(name: &str, reader: impl Read) -> Result<Self, PackedError> {
        let files = unpack(reader)?;
        if !files.keys().any(|file| file.ends_with(".part") || file == recording::ENDING) {
            return Err(PackedError::NoRecording);
        }
        let unpacked = Unpacked { name: name.to_owned(), files };
        Ok(Self { folder: Folder::Memory(Arc::new(unpacked)), name: name.to_owned() })
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
