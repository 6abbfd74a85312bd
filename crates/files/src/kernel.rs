//! What the kernel tells in `/proc` and `/sys`. These files never wait and are as long as the kernel makes
//! them; what they tell of another user's process is still that user's choice of words.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Most of these files are shorter. Their length is not told (it is 0), and who reads a few bytes at a time pays
/// for a system call each time.
const USUAL_BYTES: usize = 4096;

/// Opens a file.
///
/// # Errors
/// Where it cannot be opened.
#[allow(clippy::disallowed_methods, reason = "the kernel's own file")]
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(path)
}

/// The text of a file.
///
/// # Errors
/// Where it cannot be read, or is no text.
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(bytes(path)?).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

/// The bytes of a file.
///
/// # Errors
/// Where it cannot be read.
pub fn bytes(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    bytes_up_to(path, u64::MAX)
}

/// Returns the bytes of a file whose length a process decides.
///
/// # Errors
/// Returns an error if it cannot be read, or has more than `most` bytes (`FileTooLarge`).
pub fn bytes_up_to(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = vec![0; USUAL_BYTES];
    let mut end = 0;
    loop {
        match file.read(&mut bytes[end..]) {
            Ok(0) => break,
            Ok(count) => end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if end as u64 > most {
            let why = format!("longer than {most} bytes, which it may have at most");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        if end == bytes.len() {
            bytes.resize(2 * end, 0);
        }
    }
    bytes.truncate(end);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_of_any_length_is_read_whole() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("file");
        for length in [0, 1, USUAL_BYTES - 1, USUAL_BYTES, USUAL_BYTES + 1, 5 * USUAL_BYTES] {
            let written = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect::<Vec<_>>();
            fs::write(&path, &written)?;
            assert!(bytes(&path)? == written, "{length} bytes");
        }
        Ok(())
    }

    #[test]
    fn what_is_no_text_is_an_error() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("file");
        fs::write(&path, [0xff, 0xfe])?;
        assert_eq!(text(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
        Ok(())
    }
}
