//! The state file in memory.

use std::{
    fs::{File, OpenOptions, Permissions},
    io,
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    path::Path,
};

use super::layout::StateFile;

const SIZE: usize = size_of::<StateFile>();

/// Makes the file with its whole length on disk: a hole in it would be a crash when the disk is full.
pub(super) fn create(path: &Path) -> io::Result<&'static StateFile> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    // As device files are: every user of the machine may use the devices.
    file.set_permissions(Permissions::from_mode(0o666))?;
    // SAFETY: a plain system call on a file that we own.
    let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, SIZE as libc::off_t) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    map(&file)
}

/// Maps a file that another process made.
pub(super) fn open(path: &Path) -> io::Result<&'static StateFile> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if file.metadata()?.len() != SIZE as u64 {
        return Err(io::Error::other("not the state file of a lab, or of another version"));
    }
    map(&file)
}

fn map(file: &File) -> io::Result<&'static StateFile> {
    // SAFETY: a new shared mapping of a file that is at least as long.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is as long as a `StateFile`, aligned to a page, never unmapped, and every
    // field of it is an atomic or the lock: any bytes are valid, and other processes may write them.
    Ok(unsafe { &*address.cast::<StateFile>() })
}
