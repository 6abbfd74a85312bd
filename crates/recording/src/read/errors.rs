//! Why a recording cannot be read.

use std::{io, path::PathBuf};

/// Why a folder cannot be opened as a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be read.
    #[error("{folder}: cannot be read as a recording: {error}", folder = .folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// What the operating system says.
        error: io::Error,
    },
    /// There is nothing of a recording in it.
    #[error(
        "{folder}: not a recording: it is empty, or another folder; `whyoom run -- COMMAND` creates \
         one", folder = .0.display()
    )]
    Empty(PathBuf),
    /// All of it was written by a newer version.
    #[error(
        "{folder}: was written by a newer whyoom (format {version}): read it with that one",
        folder = .folder.display()
    )]
    Newer {
        /// The folder.
        folder: PathBuf,
        /// The version of its format.
        version: u32,
    },
}

/// Why a recording cannot be read any further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The folder is gone since it was opened.
    #[error("{folder}: was removed while it was being read", folder = .0.display())]
    Gone(PathBuf),
}
