//! The files of a packed recording: a tar archive that is compressed with gzip.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    sync::Arc,
};

use flate2::read::GzDecoder;
use thiserror::Error;

use crate::beside::TORCH_FOLDER;

/// Headers and contents begin at multiples of this.
const UNIT: usize = 512;
const REGULAR: u8 = b'0';
/// The same, as older programs write it.
const OLD_REGULAR: u8 = 0;
/// What is unpacked takes memory.
const MOST_BYTES: u64 = 1 << 30;
/// As many files as a recording may have.
const MOST_FILES: usize = 1 << 17;

/// Why an archive was not unpacked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It is too large.
    #[error("unpacked it is larger than 1.00 GiB: unpack it, and name the folder")]
    TooLarge,
    /// It has too many files.
    #[error("it contains more than {MOST_FILES} files: unpack it, and name the folder")]
    TooMany,
    /// It cannot be unpacked.
    #[error("it cannot be unpacked: {0}")]
    Damaged(#[from] io::Error),
}

/// The regular files of an archive, by the last parts of their names; those in a folder of snapshots with its name, too.
///
/// # Errors
/// Where it is damaged or too large.
pub fn unpack(archive: impl Read) -> Result<BTreeMap<String, Arc<[u8]>>, ArchiveError> {
    let mut files = BTreeMap::new();
    let mut tar = GzDecoder::new(archive);
    let mut left = MOST_BYTES;
    while let Some(header) = next_header(&mut tar)? {
        // The end of the archive is zeros.
        let Some(size) = size_of(&header) else { break };
        let padded = size.next_multiple_of(UNIT as u64) + UNIT as u64;
        left = left.checked_sub(padded).ok_or(ArchiveError::TooLarge)?;
        let contents = contents(&mut tar, size)?;
        let name = name_of(&header);
        if matches!(header[156], REGULAR | OLD_REGULAR) && !name.is_empty() {
            files.insert(name, contents.into());
        }
        if files.len() > MOST_FILES {
            return Err(ArchiveError::TooMany);
        }
    }
    Ok(files)
}

/// Nothing at the end, also where the archive has no word for it.
fn next_header(tar: &mut impl Read) -> io::Result<Option<[u8; UNIT]>> {
    let mut header = Vec::new();
    tar.take(UNIT as u64).read_to_end(&mut header)?;
    Ok(header.try_into().ok())
}

/// The contents of a file, which are followed by zeros up to the next unit.
fn contents(tar: &mut impl Read, size: u64) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    tar.take(size.next_multiple_of(UNIT as u64)).read_to_end(&mut contents)?;
    if (contents.len() as u64) < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    contents.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    Ok(contents)
}

fn name_of(header: &[u8; UNIT]) -> String {
    let path = header[..100].split(|byte| *byte == 0).next().unwrap_or_default();
    let path = String::from_utf8_lossy(path);
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    match parts.next() {
        Some(TORCH_FOLDER) if !name.is_empty() => format!("{TORCH_FOLDER}/{name}"),
        _ => name.to_owned(),
    }
}

/// Nothing of zeros. Twelve octal digits are 36 bits.
fn size_of(header: &[u8; UNIT]) -> Option<u64> {
    let digits = std::str::from_utf8(&header[124..136]).ok()?;
    u64::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn header(name: &str, size: &str, kind: u8) -> Vec<u8> {
        let mut header = vec![0; UNIT];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..124 + size.len()].copy_from_slice(size.as_bytes());
        header[156] = kind;
        header
    }

    fn unpacked(tar: &[u8]) -> Result<BTreeMap<String, Arc<[u8]>>, ArchiveError> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(tar).expect("it is written");
        unpack(&*gzip.finish().expect("it is finished"))
    }

    #[test]
    fn regular_files_are_unpacked() {
        let tar = [
            header("run/", "00000000000", b'5'),
            header("run/a.js", "00000000007", REGULAR),
            [&[7; 7][..], &[0; UNIT - 7]].concat(),
            header("run/link", "00000000000", b'2'),
            header("b", "00000000000", OLD_REGULAR),
            header("run/torch/", "00000000000", b'5'),
            header("run/torch/c", "00000000000", REGULAR),
            vec![0; 2 * UNIT],
        ];
        let files = unpacked(&tar.concat()).expect("it is unpacked");
        let expected = [("a.js", vec![7; 7]), ("b", vec![]), ("torch/c", vec![])];
        let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes.into()));
        assert_eq!(files, BTreeMap::from(expected));
        for empty in [Vec::new(), vec![0; 1024]] {
            assert!(unpacked(&empty).expect("it is unpacked").is_empty());
        }
    }

    #[test]
    fn what_is_cut_off_is_damaged() {
        let cut = [header("a/7-1.part", "00000010000", REGULAR), vec![7; 100]].concat();
        assert!(matches!(unpacked(&cut), Err(ArchiveError::Damaged(_))));
        assert!(matches!(unpack(&[0x1f, 0x8b, 1][..]), Err(ArchiveError::Damaged(_))));
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        for size in ["77777777777", "777777777777", "10000000000"] {
            let claimed = unpacked(&header("a/7-1.part", size, REGULAR));
            assert!(matches!(claimed, Err(ArchiveError::TooLarge)), "{size}");
        }
        let many: Vec<u8> = (0..=MOST_FILES)
            .flat_map(|number| header(&format!("{number}"), "00000000000", REGULAR))
            .collect();
        assert!(matches!(unpacked(&many), Err(ArchiveError::TooMany)));
    }
}
