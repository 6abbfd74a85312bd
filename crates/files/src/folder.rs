//! A folder of files that one program wrote, wherever they are: on a disk, or unpacked in memory.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::untrusted::{self, Lines};

/// So much is read at once.
const STEP: usize = 1 << 20;

/// A folder.
#[derive(Clone, Debug)]
pub enum Folder {
    /// On a disk.
    Disk(PathBuf),
    /// In memory.
    Memory(Arc<Unpacked>),
}

/// The files of a folder in memory.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// As people know the folder.
    pub name: String,
    /// The contents by their names.
    pub files: BTreeMap<String, Arc<dyn Contents>>,
}

/// The contents of a file in memory.
pub trait Contents: Debug + Send + Sync {
    /// Returns the number of bytes.
    fn length(&self) -> u64;

    /// Copies bytes from a position on. Returns how many were copied, which may be fewer than asked for; 0 at the end.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read_at(&self, target: &mut [u8], at: u64) -> io::Result<usize>;
}

impl dyn Contents {
    /// Copies all bytes.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < self.length() {
            let start = bytes.len();
            let left = usize::try_from(self.length()).unwrap_or(usize::MAX) - start;
            bytes.resize(start + left.min(STEP), 0);
            let read = self.read_at(&mut bytes[start..], start as u64)?;
            bytes.truncate(start + read);
            if read == 0 {
                break;
            }
        }
        Ok(bytes)
    }
}

impl Contents for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, target: &mut [u8], at: u64) -> io::Result<usize> {
        let from = usize::try_from(at).unwrap_or(usize::MAX).min(self.len());
        let some = target.len().min(self.len() - from);
        target[..some].copy_from_slice(&self[from..from + some]);
        Ok(some)
    }
}

/// Bytes that [`ContentsReader`] reads at once, at least. Contents may be compressed in pieces of this length.
const READ_BYTES: usize = 128 << 10;

/// Reads contents from their start to their end.
#[derive(Debug)]
pub struct ContentsReader {
    contents: Arc<dyn Contents>,
    position: u64,
}

impl ContentsReader {
    /// Begins at the start of contents.
    #[must_use]
    pub fn new(contents: Arc<dyn Contents>) -> BufReader<Self> {
        BufReader::with_capacity(READ_BYTES, Self { contents, position: 0 })
    }
}

impl Read for ContentsReader {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let read = self.contents.read_at(target, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl From<&Path> for Folder {
    fn from(path: &Path) -> Self {
        Self::Disk(path.to_owned())
    }
}

impl From<&PathBuf> for Folder {
    fn from(path: &PathBuf) -> Self {
        Self::Disk(path.clone())
    }
}

impl From<&Self> for Folder {
    fn from(folder: &Self) -> Self {
        folder.clone()
    }
}

impl Folder {
    /// As people know it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Disk(path) => path.clone(),
            Self::Memory(unpacked) => PathBuf::from(&unpacked.name),
        }
    }

    /// Whether it is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        match self {
            Self::Disk(path) => path.is_dir(),
            Self::Memory(_) => true,
        }
    }

    /// Calls a function with the name of each regular file.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn for_each_file(&self, mut each: impl FnMut(&str)) -> io::Result<()> {
        match self {
            Self::Disk(path) => {
                for entry in fs::read_dir(path)? {
                    let entry = entry?;
                    if entry.file_type()?.is_file()
                        && let Some(name) = entry.file_name().to_str()
                    {
                        each(name);
                    }
                }
            }
            Self::Memory(unpacked) => unpacked.files.keys().for_each(|name| each(name)),
        }
        Ok(())
    }

    /// What has this name in it, if anything has.
    #[must_use]
    pub fn entry(&self, name: &str) -> Entry {
        match self {
            Self::Disk(path) => Entry::Disk(path.join(name)),
            Self::Memory(unpacked) => Entry::Memory(unpacked.files.get(name).cloned()),
        }
    }
}

/// A name in a folder.
#[derive(Clone, Debug)]
pub enum Entry {
    /// On a disk, where it comes and goes.
    Disk(PathBuf),
    /// In memory.
    Memory(Option<Arc<dyn Contents>>),
}

impl Entry {
    /// Whether something has the name.
    #[must_use]
    pub fn exists(&self) -> bool {
        match self {
            Self::Disk(path) => path.exists(),
            Self::Memory(contents) => contents.is_some(),
        }
    }

    /// Opens the file as [`untrusted::open_entry`] does.
    ///
    /// # Errors
    /// As there.
    pub fn open(&self) -> io::Result<Opened> {
        match self {
            Self::Disk(path) => untrusted::open_entry(path).map(Opened::Disk),
            Self::Memory(Some(contents)) => Ok(Opened::Memory(Arc::clone(contents))),
            Self::Memory(None) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The whole file.
    ///
    /// # Errors
    /// Also where it is longer than `most` bytes.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        match self.open()? {
            Opened::Disk(file) => untrusted::whole(&file, most),
            Opened::Memory(contents) if contents.length() > most => {
                Err(io::ErrorKind::FileTooLarge.into())
            }
            Opened::Memory(contents) => contents.to_vec(),
        }
    }
}

impl Entry {
    /// Its lines: see [`untrusted::lines_of_entry`].
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn lines(&self, longest: u64, most: u64) -> io::Result<Lines> {
        let reader: Box<dyn Read> = match self.open()? {
            Opened::Disk(file) => Box::new(file),
            Opened::Memory(contents) => Box::new(ContentsReader::new(contents)),
        };
        Ok(Lines::new(reader, longest, most))
    }
}

/// An open file.
#[derive(Debug)]
pub enum Opened {
    /// On a disk.
    Disk(File),
    /// In memory.
    Memory(Arc<dyn Contents>),
}

impl Opened {
    /// How long it is now.
    ///
    /// # Errors
    /// Where that cannot be known.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Self::Disk(file) => Ok(file.metadata()?.len()),
            Self::Memory(contents) => Ok(contents.length()),
        }
    }

    /// Reads a range, as far as the file has it. Memory is taken for what was read and not for what was asked for.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read_range(&self, start: u64, target: &mut Vec<u8>, length: usize) -> io::Result<()> {
        let mut read = 0;
        target.clear();
        while read < length {
            target.resize(length.min(read.saturating_add(STEP)).max(target.len()), 0);
            match self.read_at(&mut target[read..], start.saturating_add(read as u64)) {
                Ok(0) => break,
                Ok(some) => read += some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        target.truncate(read);
        Ok(())
    }

    fn read_at(&self, target: &mut [u8], at: u64) -> io::Result<usize> {
        match self {
            Self::Disk(file) => untrusted::read_at(file, target, at),
            Self::Memory(contents) => contents.read_at(target, at),
        }
    }

    /// Where the data go on: see [`untrusted::next_data`].
    #[must_use]
    pub fn next_data(&self, from: u64) -> Option<u64> {
        match self {
            Self::Disk(file) => untrusted::next_data(file, from),
            Self::Memory(_) => Some(from),
        }
    }

    /// How much is worth reading: see [`untrusted::paid_length`].
    #[must_use]
    pub fn paid_length(&self, most: u64) -> u64 {
        match self {
            Self::Disk(file) => untrusted::paid_length(file, most),
            Self::Memory(contents) => most.min(contents.length()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> (tempfile::TempDir, [Folder; 2]) {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a"), "0123456789").expect("it is written");
        fs::create_dir(folder.path().join("b")).expect("a folder");
        let contents: Arc<dyn Contents> = Arc::new(b"0123456789".to_vec());
        let files = BTreeMap::from([("a".to_owned(), contents)]);
        let unpacked = Unpacked { name: "unpacked".to_owned(), files };
        let folders = [Folder::from(folder.path()), Folder::Memory(Arc::new(unpacked))];
        (folder, folders)
    }

    #[test]
    fn a_folder_is_the_same_on_a_disk_and_in_memory() {
        let (_kept, folders) = both();
        for folder in folders {
            assert!(folder.exists(), "{folder:?}");
            let mut names = Vec::new();
            folder.for_each_file(|name| names.push(name.to_owned())).expect("it is read");
            assert_eq!(names, ["a"]);
            assert!(folder.entry("a").exists() && !folder.entry("absent").exists());
            let absent = folder.entry("absent").open().expect_err("it is not there");
            assert_eq!(absent.kind(), io::ErrorKind::NotFound);
            assert_eq!(folder.entry("a").read(10).expect("it is read"), b"0123456789");
            let long = folder.entry("a").read(9).expect_err("it is longer");
            assert_eq!(long.kind(), io::ErrorKind::FileTooLarge);
            let file = folder.entry("a").open().expect("it is opened");
            assert_eq!(file.length().expect("it is known"), 10);
            assert_eq!(file.paid_length(7), 7);
            for (start, length, expected) in [(2, 3, "234"), (8, 5, "89"), (20, 5, ""), (0, 0, "")]
            {
                let mut bytes = Vec::new();
                file.read_range(start, &mut bytes, length).expect("it is read");
                assert_eq!(bytes, expected.as_bytes(), "{start}");
            }
        }
    }
}
