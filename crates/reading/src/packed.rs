//! A recording in one file: its folder as a tar archive, compressed with gzip.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    sync::Arc,
};

use flate2::read::GzDecoder;
use thiserror::Error;
use whyoom_files::folder::{Folder, Unpacked};
use whyoom_report::Input;
use whyoom_sources::{
    InputKind,
    recording::{self, Ending, RecordingError, Resolve},
};
use whyoom_trace::{EventSink, Tables};

/// Headers and contents begin at multiples of this.
const UNIT: usize = 512;
const REGULAR: u8 = b'0';
/// The same, as older programs write it.
const OLD_REGULAR: u8 = 0;
/// What is unpacked takes memory.
const MOST_BYTES: u64 = 1 << 30;
/// As many files as a recording may have.
const MOST_FILES: usize = 1 << 17;

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
    /// It is too large.
    #[error("unpacked it is larger than 1.00 GiB: unpack it, and name the folder")]
    TooLarge,
    /// It cannot be unpacked.
    #[error("it cannot be unpacked: {0}")]
    Damaged(io::Error),
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
        let mut files = BTreeMap::new();
        let mut tar = GzDecoder::new(reader).take(MOST_BYTES + 1);
        while let Some((file, contents)) = next_file(&mut tar)? {
            if tar.limit() == 0 || files.len() >= MOST_FILES {
                return Err(PackedError::TooLarge);
            }
            if !file.is_empty() {
                files.insert(file, contents.into());
            }
        }
        if !files.keys().any(|file: &String| file.ends_with(".part") || file == recording::ENDING) {
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

/// The next file by the last part of its name, which is empty of what is no regular file; nothing at the end.
fn next_file(tar: &mut impl Read) -> Result<Option<(String, Vec<u8>)>, PackedError> {
    let mut header = [0; UNIT];
    if read_up_to(tar, &mut header)? < UNIT {
        return Ok(None);
    }
    // The end of the archive is zeros.
    let Some(size) = size_of(&header) else { return Ok(None) };
    let padded = size.checked_next_multiple_of(UNIT as u64).ok_or(PackedError::TooLarge)?;
    let mut contents = Vec::new();
    tar.take(padded).read_to_end(&mut contents).map_err(PackedError::Damaged)?;
    if (contents.len() as u64) < size {
        return Err(PackedError::Damaged(io::ErrorKind::UnexpectedEof.into()));
    }
    contents.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    let is_file = matches!(header[156], REGULAR | OLD_REGULAR);
    Ok(Some(if is_file { (name_of(&header), contents) } else { (String::new(), Vec::new()) }))
}

fn read_up_to(reader: &mut impl Read, target: &mut [u8]) -> Result<usize, PackedError> {
    let mut read = 0;
    while read < target.len() {
        match reader.read(&mut target[read..]) {
            Ok(0) => break,
            Ok(some) => read += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(PackedError::Damaged(error)),
        }
    }
    Ok(read)
}

fn name_of(header: &[u8; UNIT]) -> String {
    let path = header[..100].split(|byte| *byte == 0).next().unwrap_or_default();
    let path = String::from_utf8_lossy(path);
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Nothing at the end of the archive, which is zeros.
fn size_of(header: &[u8; UNIT]) -> Option<u64> {
    let digits = std::str::from_utf8(&header[124..136]).ok()?;
    u64::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn header(name: &str, size: &str) -> Vec<u8> {
        let mut header = vec![0; UNIT];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..124 + size.len()].copy_from_slice(size.as_bytes());
        header[156] = REGULAR;
        header
    }

    fn packed(tar: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(tar).expect("it is written");
        gzip.finish().expect("it is finished")
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let text =
            packed(&[header("a/b.js", "00000000007"), vec![7; 7], vec![0; UNIT - 7]].concat());
        assert!(matches!(Packed::unpack("x", &*text), Err(PackedError::NoRecording)));
        for tar in [Vec::new(), vec![0; 1024]] {
            let found = Packed::unpack("x", &*packed(&tar));
            assert!(matches!(found, Err(PackedError::NoRecording)));
        }
        assert!(matches!(Packed::unpack("x", &[0x1f, 0x8b, 1][..]), Err(PackedError::Damaged(_))));
    }

    #[test]
    fn what_is_cut_off_is_damaged() {
        let cut = packed(&[header("a/7-1.part", "00000010000"), vec![7; 100]].concat());
        assert!(matches!(Packed::unpack("x", &*cut), Err(PackedError::Damaged(_))));
    }

    #[test]
    fn a_bomb_is_refused() {
        let claimed = packed(&header("a/7-1.part", "77777777777"));
        assert!(matches!(Packed::unpack("x", &*claimed), Err(PackedError::Damaged(_))));
        let overflow = packed(&header("a/7-1.part", "777777777777"));
        assert!(Packed::unpack("x", &*overflow).is_err());
    }
}
