//! The few parts of a program's or library's file that names come from.
//!
//! The path is the recording's word, so that the file may be anything: it is opened as one that nobody vouches
//! for, nothing of it is mapped (a file that becomes shorter then is an error and not a crash), and no more is
//! read than its own bytes pay for.

use std::{
    fs::{File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use flate2::read::ZlibDecoder;
use whyoom_files::untrusted;

/// No section is longer: debug information beyond it is passed over.
const LONGEST_SECTION: u64 = 512 << 20;
/// The table of section names is not longer, nor is a note.
const LONGEST_NAMES: u64 = 1 << 20;
const LONGEST_NOTE: u64 = 64 << 10;
const MOST_NOTES: usize = 64;
/// So many times its data may a section be: beyond that it is a hole, or a bomb for whoever decompresses it.
const LARGEST_RATIO: u64 = 16;

const HEADER: usize = 64;
const SECTION: usize = 64;
const NOTE: u32 = 7;
const NO_BITS: u32 = 8;
const COMPRESSED: u64 = 1 << 11;
const ZLIB: u32 = 1;
const BUILD_ID: u32 = 3;

/// What tells one file from another, whatever its path.
pub(crate) type FileNumber = (u64, u64);

#[cfg(unix)]
fn number_of(_: &Path, found: &Metadata) -> FileNumber {
    use std::os::unix::fs::MetadataExt;

    (found.dev(), found.ino())
}

/// Elsewhere by its path: whoever has two paths to a file reads it twice.
#[cfg(not(unix))]
fn number_of(path: &Path, found: &Metadata) -> FileNumber {
    use std::hash::{DefaultHasher, Hash, Hasher};

    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    (found.len(), hasher.finish())
}

/// A file of 64 bits and little endian, as all are that can be recorded.
pub(crate) struct Elf {
    file: File,
    length: u64,
    pub(crate) number: FileNumber,
    sections: Vec<Section>,
    names: Vec<u8>,
}

/// A section, as its header has it.
#[derive(Clone, Copy)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    offset: u64,
    size: u64,
    link: u32,
}

impl Elf {
    /// Opens a file; none where it is missing or is something else.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let file = untrusted::open(path).ok()?;
        let found = file.metadata().ok()?;
        let (length, number) = (found.len(), number_of(path, &found));
        let mut elf = Self { file, length, number, sections: Vec::new(), names: Vec::new() };
        let header = elf.bytes(0, HEADER as u64)?;
        if !header.starts_with(b"\x7fELF\x02\x01") || u16_at(&header, 58) as usize != SECTION {
            return None;
        }
        let (count, names) = (u64::from(u16_at(&header, 60)), usize::from(u16_at(&header, 62)));
        let table = elf.bytes(u64_at(&header, 40), count * SECTION as u64)?;
        elf.sections = table.chunks_exact(SECTION).map(Section::read).collect();
        let names = elf.sections.get(names).filter(|names| names.size <= LONGEST_NAMES).copied();
        elf.names = names.and_then(|names| elf.bytes(names.offset, names.size)).unwrap_or_default();
        Some(elf)
    }

    /// Its build id; empty where it has none.
    pub(crate) fn build_id(&self) -> Vec<u8> {
        let notes = self.sections.iter();
        let notes = notes.filter(|section| section.kind == NOTE && section.size <= LONGEST_NOTE);
        let bytes = notes.take(MOST_NOTES).filter_map(|note| self.bytes(note.offset, note.size));
        bytes.filter_map(|bytes| build_id_in(&bytes)).next().unwrap_or_default()
    }

    /// Whether it has a section.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.section(name).is_some()
    }

    /// The contents of a section, decompressed; nothing where it has none, or one that nobody would make.
    pub(crate) fn contents(&self, name: &str) -> Option<Arc<[u8]>> {
        let section = self.section(name)?;
        let bytes = self.bytes(section.offset, section.size)?;
        if section.flags & COMPRESSED == 0 {
            return Some(bytes.into());
        }
        decompressed(&bytes).map(Into::into)
    }

    /// A table of symbols and the section of their names.
    pub(crate) fn symbols(&self, name: &str) -> Option<(Vec<u8>, Arc<[u8]>)> {
        let table = self.section(name)?;
        let names = self.sections.get(table.link as usize)?;
        let names = self.bytes(names.offset, names.size)?;
        Some((self.bytes(table.offset, table.size)?, names.into()))
    }

    fn section(&self, name: &str) -> Option<&Section> {
        let is_named = |section: &&Section| {
            let rest = self.names.get(section.name as usize..).unwrap_or_default();
            rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
        };
        self.sections.iter().filter(|section| section.kind != NO_BITS).find(is_named)
    }

    fn bytes(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(size).filter(|end| *end <= self.length)?;
        // What is small costs nothing, whether it is there or not.
        let paid = LONGEST_NOTE.max(LARGEST_RATIO * untrusted::data_in(&self.file, offset..end));
        if size > LONGEST_SECTION.min(paid) {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}

impl Section {
    fn read(bytes: &[u8]) -> Self {
        Self {
            name: u32_at(bytes, 0),
            kind: u32_at(bytes, 4),
            flags: u64_at(bytes, 8),
            offset: u64_at(bytes, 24),
            size: u64_at(bytes, 32),
            link: u32_at(bytes, 40),
        }
    }
}

/// A compressed section: its header and a zlib stream, which is what compilers write where nobody asks for
/// another.
fn decompressed(bytes: &[u8]) -> Option<Vec<u8>> {
    const COMPRESSION_HEADER: usize = 24;
    let stream = bytes.get(COMPRESSION_HEADER..)?;
    let size = u64_at(bytes, 8);
    let most = LONGEST_SECTION.min(LARGEST_RATIO * stream.len() as u64);
    if u32_at(bytes, 0) != ZLIB || size > most {
        return None;
    }
    let mut out = Vec::with_capacity(usize::try_from(size).ok()?);
    let read: io::Result<usize> = ZlibDecoder::new(stream).take(size).read_to_end(&mut out);
    (read.ok()? as u64 == size).then_some(out)
}

/// The build id among notes: each is three lengths and words, a name and a description.
fn build_id_in(notes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = notes;
    while rest.len() >= 12 {
        let [name, description] = [u32_at(rest, 0), u32_at(rest, 4)].map(|length| length as usize);
        let start = 12_usize.checked_add(name)?.checked_next_multiple_of(4)?;
        let end = start.checked_add(description)?;
        if u32_at(rest, 8) == BUILD_ID && rest.get(12..12 + name) == Some(b"GNU\0") {
            return rest.get(start..end).map(<[u8]>::to_vec);
        }
        rest = rest.get(end.checked_next_multiple_of(4)?..)?;
    }
    None
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u16::from_le_bytes(*word))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::FileExt};

    use flate2::{Compression, write::ZlibEncoder};

    use super::*;

    #[test]
    fn our_own_file_is_read() {
        let own = Elf::open(&std::env::current_exe().unwrap()).unwrap();
        assert!(own.has(".text") && !own.has(".tex") && own.symbols(".symtab").is_some());
    }

    #[test]
    fn a_hole_is_no_section() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hole");
        let file = File::create_new(&path).unwrap();
        let mut header = [0; HEADER];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        header[58..60].copy_from_slice(&(SECTION as u16).to_le_bytes());
        file.write_all_at(&header, 0).unwrap();
        file.set_len(1 << 40).unwrap();
        let elf = Elf::open(&path).unwrap();
        assert!(elf.bytes(0, 4096).is_some());
        assert!(elf.bytes(0, 100 << 20).is_none() && elf.bytes(1 << 30, 1 << 20).is_none());
        assert!(elf.bytes(u64::MAX, 2).is_none() && elf.bytes(0, 2 << 40).is_none());
    }

    #[test]
    fn a_bomb_is_not_decompressed() {
        let compressed = |contents: &[u8], size: u64| {
            let mut section = vec![0; 24];
            section[0] = 1;
            section[8..16].copy_from_slice(&size.to_le_bytes());
            let mut stream = ZlibEncoder::new(section, Compression::best());
            stream.write_all(contents).unwrap();
            stream.finish().unwrap()
        };
        let text: Vec<u8> = (0..2000_u32).flat_map(u32::to_le_bytes).collect();
        let size = text.len() as u64;
        assert_eq!(decompressed(&compressed(&text, size)), Some(text.clone()));
        assert_eq!(decompressed(&compressed(&text, size + 1)), None, "less than it says");
        assert_eq!(decompressed(&compressed(&[0; 1 << 20], 1 << 20)), None);
        assert_eq!(decompressed(&[]), None);
    }

    #[test]
    fn the_build_id_is_found_among_notes() {
        let note = |name: &[u8], kind: u32, description: &[u8]| {
            let lengths = [name.len() as u32, description.len() as u32, kind];
            let mut note: Vec<u8> = lengths.iter().flat_map(|word| word.to_le_bytes()).collect();
            for part in [name, description] {
                note.extend(part);
                note.resize(note.len().next_multiple_of(4), 0);
            }
            note
        };
        let notes = [note(b"stapsdt\0", 3, b"abcde"), note(b"GNU\0", 3, &[7; 20])].concat();
        assert_eq!(build_id_in(&notes), Some(vec![7; 20]));
        assert_eq!(build_id_in(&notes[..notes.len() - 1]), None);
        assert_eq!(build_id_in(&[0xff; 64]), None);
    }
}
