//! Why recording stopped.

use rustix::io::Errno;

/// Why recording stopped. The program that is recorded goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// No room on the disk but what is left to the program, or the user's share of it is used up.
    #[error(
        "the disk of the recording is full (its last 1 GiB, or 5% if that is less, is left to the \
         program): free some space, or record to another disk"
    )]
    DiskFull,
    /// The file system takes no writes.
    #[error("the recording's folder is on a read-only file system: record to another folder")]
    ReadOnly,
    /// The folder is not there, or not any more.
    #[error("the recording's folder does not exist: it was removed, or the root folder changed")]
    FolderGone,
    /// The process may not write there.
    #[error(
        "the process may not write into the recording's folder: it runs as a user other than the \
         folder's owner"
    )]
    NotAllowed,
    /// The process or the machine has no file descriptor left.
    #[error("no file descriptor is left for the next file of the recording: raise ulimit -n")]
    NoDescriptors,
    /// The process has no address space or maps left.
    #[error("the next file of the recording could not be mapped: out of memory or mappings")]
    NoMemory,
    /// A limit on the size of files.
    #[error("the file size limit is below the size of a recording file: raise ulimit -f")]
    FileTooLarge,
    /// The path of the folder is too long.
    #[error("the path of the recording's folder is too long: record to another folder")]
    PathTooLong,
    /// A file became shorter while it was written to.
    #[error(
        "a file of the recording was truncated while in use, or its disk failed: do not touch the \
         files of a recording while it is being written"
    )]
    Cut,
    /// This process is a child that inherited its parent's recording.
    #[error("this process was forked from the one that records: it needs its own part")]
    Forked,
    /// Anything else, by the operating system's number.
    #[error("the recording could not be written (operating system error {0})")]
    Other(i32),
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOSPC | Errno::DQUOT => Self::DiskFull,
            Errno::ROFS => Self::ReadOnly,
            Errno::NOENT | Errno::NOTDIR | Errno::STALE => Self::FolderGone,
            Errno::ACCESS | Errno::PERM => Self::NotAllowed,
            Errno::MFILE | Errno::NFILE => Self::NoDescriptors,
            Errno::NOMEM | Errno::AGAIN => Self::NoMemory,
            Errno::FBIG => Self::FileTooLarge,
            Errno::NAMETOOLONG => Self::PathTooLong,
            other => Self::Other(other.raw_os_error()),
        }
    }
}
