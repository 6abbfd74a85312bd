//! Elsewhere: what the standard library knows. Files are only read here, on a person's own machine.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use super::Follow;

/// A link was refused by its metadata, and no name is a FIFO.
pub(crate) fn without_waiting(options: &mut OpenOptions, _: Follow) -> &mut OpenOptions {
    options
}

/// As the folder has it.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

pub(crate) fn read_at(mut file: &File, target: &mut [u8], at: u64) -> io::Result<usize> {
    file.seek(SeekFrom::Start(at))?;
    file.read(target)
}

/// Holes are not told: all is data.
pub(crate) fn next_data(_: &File, from: u64) -> Option<u64> {
    Some(from)
}

pub(crate) fn next_hole(_: &File, _: u64) -> Option<u64> {
    None
}

pub(crate) fn rewind(mut file: &File) {
    let _ = file.rewind();
}
