//! What whyoom did not create itself: a file may be a FIFO, a link, a device, or a hole of a terabyte, and
//! may become shorter while it is read.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read},
    ops::Range,
    path::Path,
};

#[cfg(target_os = "linux")]
pub use crate::linux::{belongs_to, open_below, open_folder_below};
use crate::system::{self, Follow};

/// Opens a regular file that a person or the system named; a link to one is one.
///
/// # Errors
/// Where it cannot be opened, or is anything but a regular file. It never waits.
pub fn open(path: &Path) -> io::Result<File> {
    open_options(path, OpenOptions::new().read(true), Follow::Links)
}

/// Opens a regular file that was found in a folder: there, a link is refused, because it would lead to a
/// file that whoever made the folder could not read.
///
/// # Errors
/// Where it cannot be opened, or is a link or anything else but a regular file. It never waits.
pub fn open_entry(path: &Path) -> io::Result<File> {
    open_options(path, OpenOptions::new().read(true), Follow::Nothing)
}

pub(crate) fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// The same as [`open_entry`], for writing too.
///
/// # Errors
/// As [`open_entry`].
pub fn open_entry_for_writing(path: &Path) -> io::Result<File> {
    open_options(path, OpenOptions::new().read(true).write(true), Follow::Nothing)
}

fn open_options(path: &Path, options: &mut OpenOptions, follow: Follow) -> io::Result<File> {
    // Looked at first: opening a device may do something by itself, as a watchdog's does.
    let found = match follow {
        Follow::Nothing => fs::symlink_metadata(path)?,
        Follow::Links => fs::metadata(path)?,
    };
    if !found.is_file() {
        return Err(not_regular());
    }
    let file = system::without_waiting(options, follow).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Reads at a place of a file. Whether that moves the file's own place differs between systems.
///
/// # Errors
/// Where it cannot be read.
pub fn read_at(file: &File, target: &mut [u8], at: u64) -> io::Result<usize> {
    system::read_at(file, target, at)
}

/// Where the data of a file go on from a place; nothing where only a hole follows. A file system that knows
/// no holes says that all is data. Moves the file's own place.
#[must_use]
pub fn next_data(file: &File, from: u64) -> Option<u64> {
    system::next_data(file, from)
}

/// A file may be so many times as long as its data: file systems do not store zeros.
const LARGEST_RATIO: u64 = 16;

/// How much of the first bytes of a file is worth reading: all, or what comes before the first hole where most
/// is holes. Moves the file's own place to its start.
#[must_use]
pub fn paid_length(file: &File, most: u64) -> u64 {
    let paid = data_in(file, 0..most).saturating_mul(LARGEST_RATIO) >= most;
    let length = if paid { most } else { system::next_hole(file, 0).unwrap_or(most).min(most) };
    system::rewind(file);
    length
}

/// Pieces of data beyond these are not looked for.
const MOST_EXTENTS: usize = 4096;

/// How many bytes of a range are data and not holes, which cost whoever made the file nothing.
#[must_use]
pub fn data_in(file: &File, range: Range<u64>) -> u64 {
    let (mut at, mut sum) = (range.start, 0);
    for _ in 0..MOST_EXTENTS {
        let Some(start) = next_data(file, at).filter(|start| *start < range.end) else { break };
        let end = system::next_hole(file, start).unwrap_or(range.end).min(range.end);
        sum += end.saturating_sub(start);
        if end <= start || end >= range.end {
            break;
        }
        at = end;
    }
    sum
}

/// The whole of a file that was found in a folder.
///
/// # Errors
/// Also where it is longer than `most` bytes.
pub fn read_entry(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    whole(&open_entry(path)?, most)
}

/// The whole of a file that a person or the system named.
///
/// # Errors
/// Also where it is longer than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    whole(&open(path)?, most)
}

/// What is left of an open file. Its length is not believed: it may be a hole, and may change.
///
/// # Errors
/// Where it cannot be read, or has more than `most` bytes.
pub fn whole(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("longer than {most} bytes, which it may have at most"),
        ));
    }
    Ok(bytes)
}

/// The lines of a file, each of at most `longest` bytes, of at most `most` bytes together. A longer line
/// ends them, as damage does.
pub struct Lines {
    reader: BufReader<io::Take<Box<dyn Read>>>,
    longest: u64,
}

impl Lines {
    /// Those of what is read here.
    #[must_use]
    pub fn new(reader: Box<dyn Read>, longest: u64, most: u64) -> Self {
        Self { reader: BufReader::new(reader.take(most)), longest }
    }
}

/// Reads a file that was found in a folder line by line.
///
/// # Errors
/// As [`open_entry`].
pub fn lines_of_entry(path: &Path, longest: u64, most: u64) -> io::Result<Lines> {
    Ok(Lines::new(Box::new(open_entry(path)?), longest, most))
}

impl Iterator for Lines {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        (&mut self.reader).take(self.longest).read_until(b'\n', &mut line).ok()?;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() as u64 >= self.longest {
            return None;
        }
        (!line.is_empty() || !self.reader.fill_buf().ok()?.is_empty()).then_some(line)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{
        fs,
        os::unix::fs::{FileExt, symlink},
    };

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn below_a_folder_no_link_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("logs/pod")).expect("a folder");
        fs::write(at("secret"), "x").expect("it is written");
        fs::write(at("logs/pod/0.log"), "y").expect("it is written");
        std::os::unix::fs::symlink("../../secret", at("logs/pod/1.log")).expect("a link");
        std::os::unix::fs::symlink("..", at("logs/up")).expect("a link");
        let logs = File::open(at("logs")).expect("it is opened");
        assert!(open_below(&logs, Path::new("pod/0.log")).is_ok());
        for path in ["pod/1.log", "up/secret", "../secret", "pod", "absent", "/etc/passwd"] {
            assert!(open_below(&logs, Path::new(path)).is_err(), "{path}");
        }
        assert!(open_folder_below(&logs, Path::new("pod")).is_ok());
        for path in ["pod/0.log", "up", "..", "absent", "/etc"] {
            assert!(open_folder_below(&logs, Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "text").unwrap();
        symlink(path("file"), path("link")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        mknodat(CWD, path("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(open(&path("file")).is_ok() && open_entry(&path("file")).is_ok());
        assert!(open(&path("link")).is_ok() && open_entry(&path("link")).is_err());
        for wrong in ["zero", "fifo", "", "absent"] {
            assert!(open(&path(wrong)).is_err() && open_entry(&path(wrong)).is_err(), "{wrong}");
            assert!(open_entry_for_writing(&path(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_hole_is_not_taken_into_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hole");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read_entry(&path, 1000).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(lines_of_entry(&path, 1000, 1 << 20).unwrap().count(), 0);
    }

    #[test]
    fn holes_are_told_from_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hole");
        let file = File::create_new(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        file.write_all_at(&[1; 4096], 1 << 30).unwrap();
        let file = open(&path).unwrap();
        assert_eq!(next_data(&file, 0), Some(1 << 30));
        assert_eq!(next_data(&file, 2 << 30), None);
        let page = data_in(&file, 0..1 << 40);
        assert!((4096..=65_536).contains(&page), "{page}");
        assert_eq!(data_in(&file, 0..1 << 20), 0);
        assert_eq!(paid_length(&file, 1 << 30), 0);
        fs::write(&path, "some text").unwrap();
        let file = open(&path).unwrap();
        assert_eq!(paid_length(&file, 9), 9);
        assert_eq!(whole(&file, 9).unwrap(), b"some text");
    }

    #[test]
    fn lines_end_where_they_are_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let lines = |text: &str, longest, most| {
            fs::write(&path, text).unwrap();
            let lines = lines_of_entry(&path, longest, most).unwrap();
            lines.map(|line| String::from_utf8(line).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(lines("a\n\nb", 10, 100), ["a", "", "b"]);
        assert_eq!(lines("a\nlonger than ten\nb\n", 10, 100), ["a"]);
        assert_eq!(lines("a\nb\nc\n", 10, 4), ["a", "b"]);
        assert_eq!(lines("", 10, 100), [""; 0]);
    }
}
