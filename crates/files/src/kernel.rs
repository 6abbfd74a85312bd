//! What the kernel tells in `/proc` and `/sys`. These files never wait and are as long as the kernel makes
//! them; what they tell of another user's process is still that user's choice of words.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

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
#[allow(clippy::disallowed_methods, reason = "the kernel's own file")]
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    fs::read_to_string(path)
}

/// The bytes of a file.
///
/// # Errors
/// Where it cannot be read.
#[allow(clippy::disallowed_methods, reason = "the kernel's own file")]
pub fn bytes(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    fs::read(path)
}
