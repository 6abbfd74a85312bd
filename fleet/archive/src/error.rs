//! Errors and outcomes of the archive.

use std::io::ErrorKind;

use whyoom_incident::parquet::FileError;

/// Why the archive could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The store refused, or could not be reached.
    #[error("the store: {0}")]
    Store(#[from] object_store::Error),
    /// The folder of the archive cannot be read or written there.
    #[error("{path}: {error}")]
    Folder {
        /// The path below the archive's folder.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// An object is no file of incidents.
    #[error("{path}: {error}")]
    File {
        /// Its path.
        path: String,
        /// What is wrong with it.
        error: FileError,
    },
    /// Under the name that only this agent makes, there is something else.
    #[error("{path} holds something else than what was written")]
    Foreign {
        /// Its path.
        path: String,
    },
    /// An object has a column that this version does not know, and would drop.
    #[error("{path} has the column {column}, of a newer version: compact with that")]
    Newer {
        /// Its path.
        path: String,
        /// The column.
        column: String,
    },
    /// The incidents of many objects take too much memory together.
    #[error(
        "{path} and the objects before it have incidents of more than {most} bytes: ask for fewer days, or ask by SQL"
    )]
    TooMuch {
        /// The path of the object that was read last.
        path: String,
        /// The memory that may be taken, in bytes.
        most: u64,
    },
    /// An object is too long.
    #[error("{path} is too long: {bytes} bytes")]
    TooLong {
        /// Its path.
        path: String,
        /// Its length.
        bytes: u64,
    },
    /// The address names no store.
    #[error("{url}: use s3://BUCKET/PREFIX or a folder: {why}")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The machine has no room for what the client needs.
    #[error("the client: {0}")]
    Client(#[from] std::io::Error),
}

impl ArchiveError {
    /// Returns true if the object is not there.
    pub(crate) fn is_absent(&self) -> bool {
        match self {
            Self::Store(error) => matches!(error, object_store::Error::NotFound { .. }),
            Self::Folder { error, .. } => error.kind() == ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Returns true if the object itself cannot be read, and others can: it is damaged, too long, closed to this user,
    /// or no regular file any more. Other errors, such as EIO and EMFILE, say nothing about the object.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::File { .. } | Self::TooLong { .. } => true,
            Self::Folder { error, .. } => matches!(
                error.kind(),
                ErrorKind::InvalidData
                    | ErrorKind::InvalidInput
                    | ErrorKind::FileTooLarge
                    | ErrorKind::NotADirectory
                    | ErrorKind::PermissionDenied
            ),
            _ => false,
        }
    }
}

/// How an object came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It was written now.
    Written,
    /// An earlier attempt had written it, whose answer was lost.
    WasThere,
}
