//! The host memory behind the simulated one. Pages exist only where something was written, so a
//! device may be far larger than the host.
//!
//! The invariant of every unsafe block here: an address comes from a mapping that this module made
//! and that still exists, because the driver looks each one up before it passes it on.

mod sharing;

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

use rustix::fs::{MemfdFlags, SealFlags};

pub(crate) use self::sharing::{open_of, share, shared_clock, unshare};
use crate::error::{Error, Result};

/// Pages are looked at in steps of this size when a copy skips what was never written.
const STEP: usize = 2 << 20;
const PAGE: usize = 4096;

/// Reserves addresses, aligned to `alignment`. Nothing is behind them until it is written.
pub(crate) fn reserve(length: u64, alignment: u64, accessible: bool) -> Result<u64> {
    let protection = if accessible { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    let padded = length.checked_add(alignment).ok_or(Error::OutOfMemory)? as usize;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let address = unsafe { libc::mmap(ptr::null_mut(), padded, protection, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return Err(Error::OutOfMemory);
    }
    let start = (address as u64).next_multiple_of(alignment);
    let (before, behind) =
        (start - address as u64, padded as u64 - (start - address as u64) - length);
    unmap(address as u64, before);
    unmap(start + length, behind);
    // SAFETY: within the mapping. Huge pages would make a small copy cost 2 MiB of host memory.
    unsafe { libc::madvise(start as *mut _, length as usize, libc::MADV_NOHUGEPAGE) };
    Ok(start)
}

/// Keeps a range out of core files, which would otherwise be as long as the device.
pub(crate) fn leave_out_of_core_files(address: u64, length: u64) {
    // SAFETY: within a mapping of ours. It is advice: what is refused changes nothing.
    unsafe { libc::madvise(address as *mut _, length as usize, libc::MADV_DONTDUMP) };
}

/// Ends a mapping.
pub(crate) fn unmap(address: u64, length: u64) {
    if length > 0 {
        // SAFETY: the caller owns the range.
        unsafe { libc::munmap(address as *mut _, length as usize) };
    }
}

/// Puts back bare addresses where something was mapped.
pub(crate) fn clear(address: u64, length: u64) -> Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    map_at(address, length, libc::PROT_NONE, flags, -1, 0)
}

/// Maps a part of a file at an address.
pub(crate) fn map_file(address: u64, length: u64, file: &OwnedFd, offset: u64) -> Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED;
    map_at(address, length, protection, flags, file.as_raw_fd(), offset)
}

fn map_at(
    address: u64,
    length: u64,
    protection: i32,
    flags: i32,
    file: i32,
    offset: u64,
) -> Result<()> {
    // SAFETY: replaces pages of a range that was reserved for this.
    let mapped = unsafe {
        libc::mmap(
            address as *mut _,
            length as usize,
            protection,
            flags,
            file,
            offset as libc::off_t,
        )
    };
    if mapped == libc::MAP_FAILED { Err(Error::MapFailed) } else { Ok(()) }
}

/// Gives the pages of a range back; it reads as zeros afterwards.
pub(crate) fn discard(address: u64, length: u64) {
    // SAFETY: the range is mapped anonymously by us.
    unsafe { libc::madvise(address as *mut _, length as usize, libc::MADV_DONTNEED) };
}

/// A file so sealed stays as long as it is: what is mapped of it stays readable.
pub(crate) const LENGTH_SEALS: SealFlags =
    SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Whether a file can be mapped without fear that another makes it shorter.
pub(crate) fn is_sealed(file: &OwnedFd) -> bool {
    rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK))
}

/// A file in memory, as long as asked for ever and with no pages in it.
pub(crate) fn memory_file(length: u64) -> Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("whyoom-lab", flags).map_err(|_| Error::OperatingSystem)?;
    // SAFETY: a plain system call on our file.
    let error = unsafe { libc::ftruncate(file.as_raw_fd(), length as libc::off_t) };
    if error != 0 || rustix::fs::fcntl_add_seals(&file, LENGTH_SEALS).is_err() {
        return Err(Error::OperatingSystem);
    }
    Ok(file)
}

/// Frees the pages of a part of a file.
pub(crate) fn punch_hole(file: &OwnedFd, offset: u64, length: u64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a plain system call on our file.
    unsafe {
        libc::fallocate(file.as_raw_fd(), mode, offset as libc::off_t, length as libc::off_t)
    };
}

/// Opens the file once more, standing at `position`: whoever gets the descriptor can ask for both.
pub(crate) fn open_at(file: &OwnedFd, position: u64) -> Result<OwnedFd> {
    use std::io::Seek;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(path);
    let mut opened = opened.map_err(|_| Error::OperatingSystem)?;
    opened.seek(io::SeekFrom::Start(position)).map_err(|_| Error::OperatingSystem)?;
    Ok(opened.into())
}

/// Whether so much of a file can be mapped from a place on, now and later.
pub(crate) fn holds(file: &OwnedFd, offset: u64, length: u64) -> bool {
    let size = rustix::fs::fstat(file).map_or(0, |found| found.st_size.cast_unsigned());
    is_sealed(file) && offset.checked_add(length).is_some_and(|end| end <= size)
}

/// The inode and the position of somebody's descriptor, and a descriptor of our own for it.
pub(crate) fn adopt(descriptor: i32) -> Result<(OwnedFd, u64, u64)> {
    use std::{io::Seek, os::unix::fs::MetadataExt};
    // SAFETY: a plain system call; a bad descriptor is refused by the kernel.
    let copy = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the copy is ours alone.
    let mut file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(copy) });
    let inode = file.metadata().map_err(|_| Error::InvalidValue)?.ino();
    let position = file.stream_position().map_err(|_| Error::InvalidValue)?;
    Ok((file.into(), inode, position))
}

/// The inode of one of our files.
pub(crate) fn inode(file: &OwnedFd) -> Result<u64> {
    adopt(file.as_raw_fd()).map(|(_, inode, _)| inode)
}

/// Copies bytes. Where the source was never written, nothing is read and the target is emptied, so
/// that a copy of a large tensor of zeros costs no memory.
///
/// `sparse` says that both ends are simulated device memory; host memory is simply copied.
pub(crate) fn copy(target: u64, source: u64, length: u64, sparse: bool) {
    if !sparse {
        // SAFETY: the caller vouches for both ranges, as with any C copy.
        unsafe { ptr::copy(source as *const u8, target as *mut u8, length as usize) };
        return;
    }
    let mut done = 0;
    while done < length as usize {
        let from = source as usize + done;
        let step = (STEP - from % STEP).min(length as usize - done);
        let to = target as usize + done;
        if is_untouched(from, step) {
            fill_zero(to as u64, step as u64);
        } else {
            // SAFETY: both lie in ranges that the driver looked up.
            unsafe { ptr::copy(from as *const u8, to as *mut u8, step) };
        }
        done += step;
    }
}

/// Writes zeros; whole pages are given back instead.
pub(crate) fn fill_zero(address: u64, length: u64) {
    let (start, end) = (address as usize, (address + length) as usize);
    let (first, last) = (start.next_multiple_of(PAGE), end - end % PAGE);
    if first >= last || !empty_pages(first, last - first) {
        // SAFETY: within a range that the driver looked up.
        unsafe { ptr::write_bytes(start as *mut u8, 0, end - start) };
        return;
    }
    // SAFETY: as above: the parts before the first and behind the last whole page.
    unsafe {
        ptr::write_bytes(start as *mut u8, 0, first - start);
        ptr::write_bytes(last as *mut u8, 0, end - last);
    }
}

/// Fills a range with a pattern.
pub(crate) fn fill(address: u64, pattern: &[u8], length: u64) {
    let target = address as *mut u8;
    if let [byte] = pattern {
        // SAFETY: within a range that the driver looked up.
        unsafe { ptr::write_bytes(target, *byte, length as usize) };
        return;
    }
    for (index, byte) in pattern.iter().cycle().take(length as usize).enumerate() {
        // SAFETY: as above.
        unsafe { target.add(index).write(*byte) };
    }
}

/// Gives pages back so that they read as zeros: those of a file with one call, ours with the other.
fn empty_pages(address: usize, length: usize) -> bool {
    let advise = |advice| {
        // SAFETY: whole pages of a range that the driver looked up.
        unsafe { libc::madvise(address as *mut _, length, advice) == 0 }
    };
    advise(libc::MADV_REMOVE) || advise(libc::MADV_DONTNEED)
}

/// Whether no page of the range, at most one step long, was ever written.
fn is_untouched(address: usize, length: usize) -> bool {
    let first = address - address % PAGE;
    let pages = (address + length - first).div_ceil(PAGE);
    let mut present = [1_u8; STEP / PAGE + 1];
    // SAFETY: the range is mapped, and there is a byte for each of its pages.
    let error = unsafe { libc::mincore(first as *mut _, pages * PAGE, present.as_mut_ptr()) };
    error == 0 && present[..pages].iter().all(|page| page & 1 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_what_was_never_written_costs_nothing() {
        let length = 1 << 33;
        let (source, target) =
            (reserve(length, 1 << 21, true).unwrap(), reserve(length, 1 << 21, true).unwrap());
        // SAFETY: within the range that was just reserved.
        unsafe { ((target + 5) as *mut u8).write(7) };
        // SAFETY: as above.
        unsafe { ((source + (1 << 32)) as *mut u8).write(9) };
        copy(target, source, length, true);
        // SAFETY: as above.
        unsafe {
            assert_eq!(((target + 5) as *const u8).read(), 0);
            assert_eq!(((target + (1 << 32)) as *const u8).read(), 9);
        }
        assert!(is_untouched((target + (1 << 30)) as usize, 1 << 21));
        unmap(source, length);
        unmap(target, length);
    }

    #[test]
    fn zeros_reach_files_too() {
        let file = memory_file(1 << 21).unwrap();
        let place = reserve(1 << 21, 1 << 21, false).unwrap();
        map_file(place, 1 << 21, &file, 0).unwrap();
        // SAFETY: within the mapping.
        unsafe { ptr::write_bytes(place as *mut u8, 7, 1 << 21) };
        fill_zero(place + 1, (1 << 21) - 2);
        // SAFETY: within the mapping.
        let bytes = unsafe { std::slice::from_raw_parts(place as *const u8, 1 << 21) };
        assert_eq!((bytes[0], bytes[1], bytes[1 << 20], bytes[(1 << 21) - 1]), (7, 0, 0, 7));
        unmap(place, 1 << 21);
    }
}
