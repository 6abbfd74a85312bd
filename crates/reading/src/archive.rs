//! The files of a packed recording: a tar archive that is compressed with gzip.

use std::{
    collections::{BTreeMap, TryReserveError},
    io::{self, Read},
    sync::Arc,
};

use flate2::read::MultiGzDecoder;
use thiserror::Error;
use whyoom_files::folder::Contents;
use whyoom_flight::CHECKPOINT;
use whyoom_recording::{FILE_EXTENSIONS, PART_EXTENSION, PART_FILE_BYTES};
use whyoom_sources::recording::{ENDING, MACHINE_SAMPLES_NAMES, MAX_MACHINE_SAMPLES_BYTES};
use whyoom_trace::Bytes;

use crate::{
    beside::{TORCH_FOLDER, tells_referrers},
    contents::{ContentsStore, FillError},
};

/// Block size of tar, in bytes.
const BLOCK_BYTES: usize = 512;
/// Type flag: regular file.
const REGULAR: u8 = b'0';
/// Type flag: regular file of pre-POSIX tar.
const OLD_REGULAR: u8 = 0;
/// Type flag: GNU long name of the next file.
const LONG_NAME: u8 = b'L';
/// Type flag: PAX header of the next file.
const PAX_HEADER: u8 = b'x';
/// Maximum bytes of a name record. Chosen, not measured: Linux has paths of up to 4 KiB.
const MAX_NAME_RECORD_BYTES: u64 = 64 << 10;
/// Bytes of a path that are kept, from its end. A recording's own names are shorter.
const KEPT_NAME_BYTES: usize = 256;
/// Maximum unpacked bytes of all files, kept or not. Unpacked files are held in memory, of which WebAssembly has at
/// most 4 GiB. Chosen, not measured.
const MAX_UNPACKED_BYTES: u64 = if cfg!(target_family = "wasm") { 512 << 20 } else { 1 << 30 };
/// Maximum number of files: as many as a recording may have.
const MAX_FILES: usize = 1 << 17;

/// Why an archive was not unpacked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It is too large.
    #[error(
        "unpacked it is larger than {}: unpack it, and let whyoom why read the folder",
        Bytes(MAX_UNPACKED_BYTES)
    )]
    TooLarge,
    /// It has too many files.
    #[error(
        "it contains more than {MAX_FILES} files: unpack it, and let whyoom why read the folder"
    )]
    TooMany,
    /// It contains files of recordings in different folders.
    #[error(
        "it contains several recordings: pack the folder of one with tar czf NAME.tar.gz FOLDER"
    )]
    SeveralRecordings,
    /// It cannot be unpacked.
    #[error("it cannot be unpacked: {0}")]
    Damaged(#[from] io::Error),
    /// There is no memory for it.
    #[error(
        "there is not enough memory to unpack it: unpack it, and let whyoom why read the folder"
    )]
    NoMemory(#[from] TryReserveError),
}

impl From<FillError> for ArchiveError {
    fn from(error: FillError) -> Self {
        match error {
            FillError::Read(error) => Self::Damaged(error),
            FillError::NoMemory(error) => Self::NoMemory(error),
        }
    }
}

/// Unpacks a recording. Returns its files by file name; snapshots as `torch/NAME`. Other files are skipped. Bytes that
/// are no tar archive have no files.
///
/// # Errors
/// Returns an error if the archive is damaged or too large, or contains several recordings.
pub fn unpack(archive: impl Read) -> Result<BTreeMap<String, Arc<dyn Contents>>, ArchiveError> {
    let mut unpacking = Unpacking {
        // Some programs compress a file in several members, and `cat` joins archives.
        tar: MultiGzDecoder::new(CountedReader { reader: archive, bytes: 0 }),
        bytes_left: MAX_UNPACKED_BYTES,
        is_tar: false,
        store: ContentsStore::default(),
        long_name: None,
        recording_folder: None,
        files: BTreeMap::new(),
    };
    while let Some(header) = unpacking.next_header()? {
        unpacking.read_entry(&header)?;
        if unpacking.files.len() > MAX_FILES {
            return Err(ArchiveError::TooMany);
        }
    }
    Ok(unpacking.files)
}

/// A header, with the size of the file that follows.
struct Header {
    block: [u8; BLOCK_BYTES],
    size: u64,
}

/// An archive that is being unpacked.
struct Unpacking<R> {
    tar: MultiGzDecoder<CountedReader<R>>,
    /// Bytes that may still be unpacked.
    bytes_left: u64,
    /// True after the first header.
    is_tar: bool,
    store: ContentsStore,
    /// Path of the next file, if a record before its header contains it.
    long_name: Option<Vec<u8>>,
    /// Folder of the recording. `None` until a file shows it.
    recording_folder: Option<Vec<u8>>,
    files: BTreeMap<String, Arc<dyn Contents>>,
}

impl<R: Read> Unpacking<R> {
    /// Reads the next header. Returns `None` at the end of the data, with or without end blocks.
    fn next_header(&mut self) -> Result<Option<Header>, ArchiveError> {
        loop {
            let mut block = [0; BLOCK_BYTES];
            let length = read_block(&mut self.tar, &mut block)?;
            if length == 0 {
                return Ok(None);
            }
            if block == [0; BLOCK_BYTES] {
                // Zeros are the end of an archive, but another one may follow.
                self.count_unpacked(BLOCK_BYTES as u64)?;
                continue;
            }
            if length < BLOCK_BYTES {
                return match self.is_tar {
                    true => Err(ArchiveError::Damaged(io::ErrorKind::UnexpectedEof.into())),
                    false => Ok(None),
                };
            }
            self.is_tar |= block[257..262] == *b"ustar";
            let size = match size_of(&block) {
                Ok(size) => size,
                Err(error) if self.is_tar => return Err(error),
                // The first block is no header: something else than a tar archive was compressed.
                Err(_) => return Ok(None),
            };
            self.is_tar = true;
            self.count_unpacked(size.next_multiple_of(BLOCK_BYTES as u64) + BLOCK_BYTES as u64)?;
            return Ok(Some(Header { block, size }));
        }
    }

    fn count_unpacked(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(ArchiveError::TooLarge)?;
        Ok(())
    }

    /// Reads what follows a header, up to the next one.
    fn read_entry(&mut self, header: &Header) -> Result<(), ArchiveError> {
        let size = header.size;
        let consumed = match header.block[156] {
            LONG_NAME if size <= MAX_NAME_RECORD_BYTES => {
                let name = name_record(&mut self.tar, size)?;
                self.long_name = Some(until_zero(&name).to_vec());
                size
            }
            PAX_HEADER if size <= MAX_NAME_RECORD_BYTES => {
                let records = name_record(&mut self.tar, size)?;
                self.long_name = pax_path(&records).map(<[u8]>::to_vec);
                size
            }
            REGULAR | OLD_REGULAR => self.read_file(header)?,
            _ => {
                self.long_name = None;
                0
            }
        };
        skip(&mut self.tar, size.saturating_sub(consumed))?;
        // The archive may end without the zeros behind its last file.
        let padding = size.next_multiple_of(BLOCK_BYTES as u64) - size;
        io::copy(&mut (&mut self.tar).take(padding), &mut io::sink())?;
        Ok(())
    }

    /// Reads a file if a recording has one of this name. Returns how many bytes were read.
    fn read_file(&mut self, header: &Header) -> Result<u64, ArchiveError> {
        let path = self.long_name.take().unwrap_or_else(|| header_path(&header.block));
        let Some(name) = name_in(end_of(&path)) else { return Ok(0) };
        if is_in_each_recording(&name) {
            check_folder(&path, &mut self.recording_folder)?;
        }
        let length = header.size.min(kept_bytes(&name));
        let mut contents = self.store.begin();
        self.store.fill(&mut contents, &mut self.tar, length, |tar| tar.get_ref().bytes)?;
        self.files.insert(name, Arc::new(contents));
        Ok(length)
    }
}

/// Reads a block. Returns its length, which is less than a block's at the end of the archive.
fn read_block(tar: &mut impl Read, block: &mut [u8; BLOCK_BYTES]) -> io::Result<usize> {
    let mut length = 0;
    while length < BLOCK_BYTES {
        match tar.read(&mut block[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Returns true for files of which each recording has one or more.
fn is_in_each_recording(name: &str) -> bool {
    name == ENDING || name.ends_with(PART_EXTENSION)
}

/// Checks that a file of a recording is in the same folder as those before it.
fn check_folder(path: &[u8], known: &mut Option<Vec<u8>>) -> Result<(), ArchiveError> {
    let length = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let folder = &path[..length];
    match known {
        Some(known) if known.as_slice() != folder => Err(ArchiveError::SeveralRecordings),
        Some(_) => Ok(()),
        None => {
            *known = Some(folder.to_vec());
            Ok(())
        }
    }
}

/// Counts the bytes of the archive that were read.
struct CountedReader<R> {
    reader: R,
    bytes: u64,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(target)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Reads the whole of a record that names the next file.
fn name_record(tar: &mut impl Read, size: u64) -> Result<Vec<u8>, ArchiveError> {
    let mut record = Vec::new();
    tar.take(size).read_to_end(&mut record)?;
    if (record.len() as u64) < size {
        return Err(ArchiveError::Damaged(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(record)
}

/// Passes over bytes, which are not kept.
///
/// # Errors
/// If the archive ends before.
fn skip(tar: &mut impl Read, bytes: u64) -> Result<(), ArchiveError> {
    let skipped = io::copy(&mut tar.take(bytes), &mut io::sink())?;
    if skipped < bytes {
        return Err(ArchiveError::Damaged(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(())
}

/// Returns the path in a header. POSIX has a second field for its beginning.
fn header_path(header: &[u8; BLOCK_BYTES]) -> Vec<u8> {
    let (name, prefix) = (until_zero(&header[..100]), until_zero(&header[345..500]));
    let is_posix = header[257..263] == *b"ustar\0";
    if is_posix && !prefix.is_empty() { [prefix, b"/", name].concat() } else { name.to_vec() }
}

/// Returns the path in a PAX header, whose records are `LENGTH path=PATH` and a line's end. Returns `None` if there is
/// none, or a record is damaged.
fn pax_path(mut records: &[u8]) -> Option<&[u8]> {
    let mut path = None;
    while let Some(blank) = records.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&records[..blank]).ok()?.parse().ok()?;
        let record = records.get(blank + 1..length)?;
        path = record.strip_prefix(b"path=").and_then(|path| path.strip_suffix(b"\n")).or(path);
        records = &records[length..];
    }
    path
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Returns the last bytes of a path.
fn end_of(path: &[u8]) -> &[u8] {
    &path[path.len().saturating_sub(KEPT_NAME_BYTES)..]
}

/// Returns the last part of a path, with the folder of snapshots before it. Returns `None` if no file of a recording
/// that is read has such a name.
fn name_in(path: &[u8]) -> Option<String> {
    let mut parts = path.rsplit(|byte| *byte == b'/');
    let name = std::str::from_utf8(parts.next()?).ok()?;
    let is_in_torch = parts.next() == Some(TORCH_FOLDER.as_bytes());
    if is_in_torch && name.ends_with(".pickle") {
        Some(format!("{TORCH_FOLDER}/{name}"))
    } else if !is_in_torch && is_of_recording(name) {
        Some(name.to_owned())
    } else {
        None
    }
}

/// Returns true if a recording has a file of this name that is read.
fn is_of_recording(name: &str) -> bool {
    FILE_EXTENSIONS.iter().any(|extension| name.ends_with(extension))
        || [ENDING, CHECKPOINT].contains(&name)
        || MACHINE_SAMPLES_NAMES.contains(&name)
        || tells_referrers(name)
}

/// Returns how many bytes of a file are read at most; the rest is not kept.
fn kept_bytes(name: &str) -> u64 {
    if name.ends_with(PART_EXTENSION) {
        PART_FILE_BYTES
    } else if MACHINE_SAMPLES_NAMES.contains(&name) {
        MAX_MACHINE_SAMPLES_BYTES
    } else {
        u64::MAX
    }
}

/// Returns the size of a file: octal digits, at most twelve, which are 36 bits.
///
/// # Errors
/// Returns `TooLarge` for a number in base 256, with which GNU tar writes sizes of 8 GiB and more, and `Damaged` for
/// anything else.
fn size_of(header: &[u8; BLOCK_BYTES]) -> Result<u64, ArchiveError> {
    let field = &header[124..136];
    if field[0] & 0x80 != 0 {
        return Err(ArchiveError::TooLarge);
    }
    let digits = std::str::from_utf8(field).unwrap_or("?").trim_matches(['\0', ' ']);
    let is_octal = digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    match u64::from_str_radix(digits, 8) {
        Ok(size) if is_octal => Ok(size),
        _ => {
            let error = "the size in a header of the tar archive is no octal number";
            Err(ArchiveError::Damaged(io::Error::new(io::ErrorKind::InvalidData, error)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, path::Path};

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn header(name: &str, size: &str, kind: u8) -> Vec<u8> {
        let mut header = vec![0; BLOCK_BYTES];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..124 + size.len()].copy_from_slice(size.as_bytes());
        header[156] = kind;
        header
    }

    fn packed(tar: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(tar).expect("it is written");
        gzip.finish().expect("it is finished")
    }

    fn unpacked(tar: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, ArchiveError> {
        contents_of(&packed(tar))
    }

    fn contents_of(archive: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, ArchiveError> {
        let files = unpack(archive)?;
        let bytes = |contents: Arc<dyn Contents>| contents.to_vec().expect("it is read");
        Ok(files.into_iter().map(|(name, contents)| (name, bytes(contents))).collect())
    }

    #[test]
    fn regular_files_are_unpacked() {
        let tar = [
            header("run/", "00000000000", b'5'),
            header("run/run.json", "00000000007", REGULAR),
            [&[7; 7][..], &[0; BLOCK_BYTES - 7]].concat(),
            header("run/7-1.part", "00000000000", b'2'),
            header("7-1-0.events", "00000000000", OLD_REGULAR),
            header("run/torch/", "00000000000", b'5'),
            header("run/torch/c.pickle", "00000000000", REGULAR),
            vec![0; 2 * BLOCK_BYTES],
        ];
        let files = unpacked(&tar.concat()).expect("it is unpacked");
        let expected =
            [("run.json", vec![7; 7]), ("7-1-0.events", vec![]), ("torch/c.pickle", vec![])];
        let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes));
        assert_eq!(files, BTreeMap::from(expected));
        for empty in [Vec::new(), vec![0; 1024]] {
            assert!(unpacked(&empty).expect("it is unpacked").is_empty());
        }
    }

    #[test]
    fn long_names_are_whole() {
        let long = format!("{}/torch/1.pickle", "folder".repeat(40));
        let padded = |bytes: &[u8]| {
            [bytes, &vec![0; bytes.len().next_multiple_of(BLOCK_BYTES) - bytes.len()][..]].concat()
        };
        let sized = |bytes: &[u8], kind| header("long", &format!("{:011o}", bytes.len()), kind);
        let gnu = [long.as_bytes(), b"\0"].concat();
        let record = format!(" path={long}\n");
        let length = record.len() + 3;
        let posix = format!("13 mtime=123\n{length}{record}");
        let mut split = header("1.pickle", "00000000000", REGULAR);
        split[257..263].copy_from_slice(b"ustar\0");
        split[345..354].copy_from_slice(b"run/torch");
        for before in [
            [sized(&gnu, LONG_NAME), padded(&gnu)].concat(),
            [sized(posix.as_bytes(), PAX_HEADER), padded(posix.as_bytes())].concat(),
            split,
        ] {
            let tar = [before, header("run.json", "00000000000", REGULAR)].concat();
            let files = unpacked(&tar).expect("it is unpacked");
            assert!(files.contains_key("torch/1.pickle"), "{:?}", files.keys());
        }
        for damaged in ["9", "x path=a\n", "99 path=a\n", "0 path=a\n", "3 a"] {
            assert_eq!(pax_path(damaged.as_bytes()), None, "{damaged}");
        }
    }

    #[test]
    fn files_that_no_recording_has_are_left_out() {
        let bytes = [7; BLOCK_BYTES];
        let names = [
            "run/a.js",
            "7-1.part/b",
            "run.json.bak",
            "c.pickle",
            "run/torch/7-1.part",
            "\u{ff}.txt",
        ];
        let mut tar: Vec<u8> = names
            .iter()
            .flat_map(|name| [header(name, "00000001000", REGULAR), bytes.to_vec()].concat())
            .collect();
        tar.extend(header("run.json", "00000000000", REGULAR));
        let files = unpacked(&tar).expect("it is unpacked");
        assert_eq!(files.into_keys().collect::<Vec<_>>(), ["run.json"]);
    }

    #[test]
    fn of_a_file_no_more_is_kept_than_is_read() {
        let tar = [
            header("7-1.part", "00000040000", REGULAR),
            vec![7; 16 << 10],
            header("run.json", "00000000000", REGULAR),
        ];
        let files = unpacked(&tar.concat()).expect("it is unpacked");
        assert_eq!(files["7-1.part"].len() as u64, PART_FILE_BYTES);
        assert!(files.contains_key("run.json"), "what comes after it is found");
    }

    #[test]
    fn what_is_cut_off_is_damaged() {
        let cut = [header("a/7-1.part", "00000010000", REGULAR), vec![7; 100]].concat();
        assert!(matches!(unpacked(&cut), Err(ArchiveError::Damaged(_))));
        assert!(matches!(unpack(&[0x1f, 0x8b, 1][..]), Err(ArchiveError::Damaged(_))));
    }

    #[test]
    fn a_header_without_an_octal_size_is_not_the_end() {
        let before = header("run/run.json", "00000000000", REGULAR);
        for size in ["", "0000000000x", "00000-00001", "00000000 00", "+0000000001", "\u{1}"] {
            let tar = [before.clone(), header("run/7-1.part", size, REGULAR)].concat();
            assert!(matches!(unpacked(&tar), Err(ArchiveError::Damaged(_))), "{size}");
        }
        let mut large = header("run/7-1.part", "", REGULAR);
        large[124] = 0x80;
        large[130] = 2;
        let tar = [before.clone(), large].concat();
        assert!(matches!(unpacked(&tar), Err(ArchiveError::TooLarge)));
        let mut negative = header("run/7-1.part", "", REGULAR);
        negative[124..136].fill(0xff);
        let tar = [before.clone(), negative].concat();
        assert!(matches!(unpacked(&tar), Err(ArchiveError::TooLarge)));
        let tar = [before, vec![b'7'; 100]].concat();
        assert!(matches!(unpacked(&tar), Err(ArchiveError::Damaged(_))), "a cut header");
    }

    #[test]
    fn what_is_no_tar_archive_has_no_files() {
        for text in [&b"a log\n"[..], &[b'a'; 3 * BLOCK_BYTES]] {
            assert!(unpacked(text).expect("it is read").is_empty());
        }
    }

    #[test]
    fn all_members_of_a_gzip_file_are_read() {
        let tar = [
            header("run/run.json", "00000000007", REGULAR),
            [&[7; 7][..], &[0; BLOCK_BYTES - 7]].concat(),
            header("run/7-1.part", "00000000000", REGULAR),
            vec![0; 20 * BLOCK_BYTES],
        ]
        .concat();
        for at in [1, BLOCK_BYTES, 2 * BLOCK_BYTES, 3 * BLOCK_BYTES, 4 * BLOCK_BYTES] {
            let archive = [packed(&tar[..at]), packed(&tar[at..])].concat();
            let files = contents_of(&archive).expect("it is unpacked");
            assert_eq!(files.into_keys().collect::<Vec<_>>(), ["7-1.part", "run.json"], "{at}");
        }
    }

    #[test]
    fn several_recordings_are_refused() {
        let empty = |name| header(name, "00000000000", REGULAR);
        let end = vec![0; 20 * BLOCK_BYTES];
        for names in [
            ["a/run.json", "b/run.json"],
            ["a/7-1.part", "b/8-1.part"],
            ["a/run.json", "a/b/7-1.part"],
            ["run.json", "a/run.json"],
        ] {
            let [first, second] = names.map(empty);
            for archive in [
                packed(&[&first[..], &second, &end].concat()),
                packed(&[&first[..], &end, &second, &end].concat()),
                [packed(&[&first[..], &end].concat()), packed(&[&second[..], &end].concat())]
                    .concat(),
            ] {
                let refused = contents_of(&archive).expect_err("two folders");
                assert!(refused.to_string().contains("several recordings"), "{refused}");
            }
        }
        // `tar --append` writes a file again; the later one counts.
        let newer = [header("a/run.json", "00000000001", REGULAR), vec![7; 1]].concat();
        let padded = [&newer[..], &[0; BLOCK_BYTES - 1]].concat();
        let files = unpacked(&[empty("a/run.json"), padded].concat()).expect("it is unpacked");
        assert_eq!(files["run.json"], [7]);
    }

    #[test]
    fn the_recordings_of_the_demo_are_unpacked() {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../whyoom/demo");
        for story in ["too-large", "healthy", "growing", "fragmented", "other-process"] {
            let archive = fs::read(demo.join(story).join("recording.tar.gz")).expect("it is read");
            let files = contents_of(&archive).expect("it is unpacked");
            assert!(files.contains_key("run.json") && files.len() >= 4, "{story}: {files:?}");
        }
    }

    #[test]
    fn zeros_behind_the_end_are_padding() {
        let tar = header("run/run.json", "00000000000", REGULAR);
        for zeros in
            [100, BLOCK_BYTES, 2 * BLOCK_BYTES, 20 * BLOCK_BYTES, 20 * BLOCK_BYTES + 1, 1 << 20]
        {
            let files = unpacked(&[&tar[..], &vec![0; zeros]].concat()).expect("it is unpacked");
            assert_eq!(files.len(), 1, "{zeros}");
        }
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        for size in ["77777777777", "777777777777", "10000000000"] {
            let claimed = unpacked(&header("a/7-1.part", size, REGULAR));
            assert!(matches!(claimed, Err(ArchiveError::TooLarge)), "{size}");
        }
        let many: Vec<u8> = (0..=MAX_FILES)
            .flat_map(|number| header(&format!("{number}-1.part"), "00000000000", REGULAR))
            .collect();
        assert!(matches!(unpacked(&many), Err(ArchiveError::TooMany)));
    }
}
