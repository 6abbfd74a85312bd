//! Linux: links and FIFOs are refused by the kernel itself, and holes are told.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::Path,
};

use rustix::{
    fs::{OFlags, SeekFrom, seek},
    io::Errno,
};

use super::Follow;

/// Not blocking, so that a FIFO that has come meanwhile is opened, and then refused; nor may a terminal become ours.
pub(crate) fn without_waiting(options: &mut OpenOptions, follow: Follow) -> &mut OpenOptions {
    let follow = if follow == Follow::Nothing { OFlags::NOFOLLOW } else { OFlags::empty() };
    options.custom_flags((follow | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
}

/// For its owner alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    const FILE_MODE: u32 = 0o600;
    options.mode(FILE_MODE)
}

/// Makes a folder for its owner alone.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    const FOLDER_MODE: u32 = 0o700;
    DirBuilder::new().mode(FOLDER_MODE).create(path)
}

pub(crate) fn read_at(file: &File, target: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(target, at)
}

/// See [`crate::untrusted::next_data`].
pub(crate) fn next_data(file: &File, from: u64) -> Option<u64> {
    match seek(file, SeekFrom::Data(from)) {
        Ok(at) => Some(at),
        Err(Errno::NXIO) => None,
        Err(_) => Some(from),
    }
}

pub(crate) fn next_hole(file: &File, from: u64) -> Option<u64> {
    seek(file, SeekFrom::Hole(from)).ok()
}

/// Where it cannot be moved, nothing can be read of it.
pub(crate) fn rewind(file: &File) {
    let _ = seek(file, SeekFrom::Start(0));
}
