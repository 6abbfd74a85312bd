//! What whyoom did not create itself: a file may be a FIFO, a link, a device, or a hole of a terabyte, and
//! may become shorter while it is read.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

/// Opens a regular file that a person or the system named; a link to one is one.
///
/// # Errors
/// Where it cannot be opened, or is anything but a regular file. It never waits.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::empty())
}

/// Opens a regular file that was found in a folder: there, a link is refused, because it would lead to a
/// file that whoever made the folder could not read.
///
/// # Errors
/// Where it cannot be opened, or is a link or anything else but a regular file. It never waits.
pub fn open_entry(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::NOFOLLOW)
}

/// The same, for writing too.
///
/// # Errors
/// As [`open_entry`].
pub fn open_entry_for_writing(path: &Path) -> io::Result<File> {
    open_options(path, OpenOptions::new().read(true).write(true), OFlags::NOFOLLOW)
}

fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    open_options(path, OpenOptions::new().read(true), flags)
}

fn open_options(path: &Path, options: &mut OpenOptions, flags: OFlags) -> io::Result<File> {
    // Not blocking, so that a FIFO without a writer is opened, and then refused; nor may a terminal
    // become ours.
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
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
#[derive(Debug)]
pub struct Lines {
    reader: BufReader<io::Take<File>>,
    longest: u64,
}

/// Reads a file that was found in a folder line by line.
///
/// # Errors
/// As [`open_entry`].
pub fn lines_of_entry(path: &Path, longest: u64, most: u64) -> io::Result<Lines> {
    Ok(Lines { reader: BufReader::new(open_entry(path)?.take(most)), longest })
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

/// Whether an open file belongs to a user, as what a process says about itself must.
#[must_use]
pub fn belongs_to(file: &File, user: u32) -> bool {
    file.metadata().is_ok_and(|found| found.uid() == user)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

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
