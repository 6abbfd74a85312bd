//! The state in memory: of a file that only one user can reach, or of a memory file that can become
//! neither shorter nor longer.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::Path,
};

use rustix::fs::{MemfdFlags, OFlags};

use super::layout::StateFile;
use crate::backing;

const SIZE: usize = size_of::<StateFile>();
/// Only its user may read or write it.
const MODE: u32 = 0o600;
/// Writable by the group or by all.
const OTHERS_WRITE: u32 = 0o022;

/// Makes the file. Whoever could shorten it could crash who has it mapped: only its user can.
pub(super) fn create(path: &Path) -> io::Result<&'static StateFile> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(MODE).open(path)?;
    allocate(file.as_fd())?;
    map(file.as_fd())
}

/// Makes a file in memory for a lab that all users share: none of them can change its length.
pub(super) fn create_sealed() -> io::Result<(&'static StateFile, OwnedFd)> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("whyoom-lab-state", flags)?;
    allocate(file.as_fd())?;
    rustix::fs::fcntl_add_seals(&file, backing::LENGTH_SEALS)?;
    Ok((map(file.as_fd())?, file))
}

/// With its whole length: a hole in it would be a crash when the disk is full.
fn allocate(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a plain system call on a file that we own.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, SIZE as libc::off_t) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Opens the file that another process made. A socket, which a shared lab has in its place, cannot be
/// opened: `ENXIO`.
pub(super) fn open(path: &Path) -> io::Result<&'static StateFile> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    check_owner(&file)?;
    map_checked(file.as_fd())
}

/// Maps a memory file that the process of a shared lab handed over.
pub(super) fn open_sealed(file: &OwnedFd) -> io::Result<&'static StateFile> {
    if !backing::is_sealed(file) {
        return Err(io::Error::other("the state of the lab could be shortened"));
    }
    map_checked(file.as_fd())
}

/// Refuses a file in which another user writes, who could shorten it.
fn check_owner(file: &File) -> io::Result<()> {
    let (found, own) = (file.metadata()?, rustix::process::geteuid().as_raw());
    let others_write = found.mode() & OTHERS_WRITE != 0;
    if !found.is_file() || others_write || ![0, own].contains(&found.uid()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

fn map_checked(file: BorrowedFd<'_>) -> io::Result<&'static StateFile> {
    if rustix::fs::fstat(file)?.st_size != SIZE as i64 {
        return Err(io::Error::other("not the state file of a lab, or of another version"));
    }
    map(file)
}

fn map(file: BorrowedFd<'_>) -> io::Result<&'static StateFile> {
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
    // field of it is an atomic: any bytes are valid, and other processes may write them.
    Ok(unsafe { &*address.cast::<StateFile>() })
}
