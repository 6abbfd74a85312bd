//! What a person named on the command line: their own choice, which may be a pipe, a terminal or a link.

use std::{fs::File, io, path::Path};

/// Opens whatever it is; a FIFO that nobody writes to is waited for, as `cat` does.
///
/// # Errors
/// Where it cannot be opened.
#[allow(clippy::disallowed_methods, reason = "the person's own choice, which may be a pipe")]
pub fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}
