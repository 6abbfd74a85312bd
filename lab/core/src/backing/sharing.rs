//! Memory that other processes can open: a file takes the place of anonymous pages.

use std::{
    fs::OpenOptions,
    os::{
        fd::OwnedFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    ptr,
};

use super::{copy, holds, leave_out_of_core_files, map_at, map_file, memory_file, reserve, unmap};
use crate::error::{Error, Result};

/// Puts a file of its own behind a range, with what the range held.
pub(crate) fn share(address: u64, length: u64, alignment: u64) -> Result<OwnedFd> {
    let file = memory_file(length)?;
    let beside = reserve(length, alignment, false)?;
    let copied = map_file(beside, length, &file, 0).map(|()| copy(beside, address, length, true));
    unmap(beside, length);
    copied.and_then(|()| map_file(address, length, &file, 0))?;
    leave_out_of_core_files(address, length);
    Ok(file)
}

/// Puts anonymous pages back where a file was.
pub(crate) fn unshare(address: u64, length: u64) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    if map_at(address, length, protection, flags, -1, 0).is_ok() {
        // SAFETY: the range was just mapped. Huge pages would make a small copy cost 2 MiB.
        unsafe { libc::madvise(address as *mut _, length as usize, libc::MADV_NOHUGEPAGE) };
        leave_out_of_core_files(address, length);
    }
}

/// Opens a file of another process by that process's number for it, if it is still that file and so long.
pub(crate) fn open_of(pid: u32, descriptor: u32, inode: u64, length: u64) -> Result<OwnedFd> {
    let path = format!("/proc/{pid}/fd/{descriptor}");
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|_| Error::InvalidValue)?;
    let found = file.metadata().map_err(|_| Error::InvalidValue)?.ino();
    let file = OwnedFd::from(file);
    if found == inode && holds(&file, 0, length) { Ok(file) } else { Err(Error::InvalidValue) }
}

/// Nanoseconds of the clock that all processes of the machine share.
pub(crate) fn shared_clock() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a plain system call that writes to our own value.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, ptr::from_mut(&mut time)) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_the_place_of_pages_and_gives_it_back() {
        let length = 4 << 20;
        let place = reserve(length, 2 << 20, true).expect("there is room");
        // SAFETY: within the range that was just reserved.
        unsafe { ((place + 5) as *mut u8).write(7) };
        let file = share(place, length, 2 << 20).expect("memory files work");
        let other = reserve(length, 2 << 20, false).expect("there is room");
        map_file(other, length, &file, 0).expect("it can be mapped twice");
        // SAFETY: within mappings of the file.
        unsafe {
            assert_eq!(((other + 5) as *const u8).read(), 7, "what was there before");
            ((other + 6) as *mut u8).write(8);
            assert_eq!(((place + 6) as *const u8).read(), 8, "one memory at two places");
        }
        unshare(place, length);
        // SAFETY: within the range, which is anonymous again.
        unsafe { assert_eq!(((place + 6) as *const u8).read(), 0) };
        unmap(place, length);
        unmap(other, length);
    }
}
