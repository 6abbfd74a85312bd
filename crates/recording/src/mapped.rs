//! Files in memory. A file that is written is made to its full length first, so that no write to it
//! can fail later; no file descriptor stays open, because programs close those that are not theirs.
//! Nobody else may read them, whatever the umask.

use std::{
    ffi::CStr,
    fs::File,
    ptr::{self, NonNull},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{self, FallocateFlags, Mode, OFlags},
    io::{self, Errno},
    mm::{self, MapFlags, ProtFlags},
    process::{Resource, getrlimit},
};

use crate::guard::Guard;

/// A file in memory, shared with every process that maps it.
#[derive(Debug)]
pub(crate) struct Mapped {
    start: NonNull<u8>,
    length: usize,
    /// Taken off before the map goes.
    guard: Option<Guard>,
}

// SAFETY: the memory stays mapped until it is dropped and is no thread's own; who writes what is for
// the owners of a `Mapped` to agree on.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Makes a new file of zeros and maps it for writing. Nothing of that name may exist.
    pub(crate) fn create(path: &CStr, length: usize) -> Result<Self, Errno> {
        // Beyond its limit on files the kernel would end the program by a signal.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < length as u64) {
            return Err(Errno::FBIG);
        }
        // Exclusively: a link of that name is not followed.
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = io::retry_on_intr(|| fs::open(path, flags, mode))?;
        let mapped = reserve(&file, length)
            .and_then(|()| Self::map(&file, length, ProtFlags::READ | ProtFlags::WRITE));
        if mapped.is_err() {
            // A file that cannot be used would only be in the reader's way.
            let _ = fs::unlink(path);
        }
        mapped
    }

    /// Maps the first bytes of a file for reading. What the file lacks, or loses later, reads as zeros.
    pub(crate) fn read(file: &File, length: usize) -> Result<Self, Errno> {
        Self::map(file, length, ProtFlags::READ)
    }

    /// The same, for writing too.
    pub(crate) fn write(file: &File, length: usize) -> Result<Self, Errno> {
        Self::map(file, length, ProtFlags::READ | ProtFlags::WRITE)
    }

    fn map(
        file: impl rustix::fd::AsFd,
        length: usize,
        protection: ProtFlags,
    ) -> Result<Self, Errno> {
        // SAFETY: a new mapping at a place of the kernel's choice replaces nothing.
        let start =
            unsafe { mm::mmap(ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast::<u8>()).ok_or(Errno::NOMEM)?;
        let guard = Some(Guard::new(start.as_ptr().expose_provenance(), length));
        Ok(Self { start, length, guard })
    }

    /// Writes the first bytes of a new file that no other thread has yet. The magic goes last: while
    /// it is missing, nothing is there.
    pub(crate) fn put_identity(&self, identity: &[u8]) {
        let Some((magic, rest)) = identity.split_first_chunk::<8>() else { return };
        let rest = &rest[..rest.len().min(self.length.saturating_sub(8))];
        // SAFETY: the place lies within the map, and nobody else reads or writes it yet.
        unsafe {
            let place = self.start.as_ptr().add(8);
            place.copy_from_nonoverlapping(rest.as_ptr(), rest.len());
        }
        // SAFETY: the map starts at a page, so the place is aligned, and it has these 8 bytes.
        let place = unsafe { AtomicU64::from_ptr(self.start.as_ptr().cast()) };
        place.store(u64::from_le_bytes(*magic), Ordering::Release);
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        drop(self.guard.take());
        // SAFETY: mapped by `map` with this length, and nothing refers to it any more.
        let _ = unsafe { mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// What is left of a disk to the program; of a small one, a twentieth.
const LEFT_TO_PROGRAM: u64 = 1 << 30;

/// Takes the room for a file on its disk, or fails where there is none, or where the program that is
/// recorded would soon find none: its checkpoint is worth more than the rest of a recording.
fn reserve(file: impl rustix::fd::AsFd, length: usize) -> Result<(), Errno> {
    if let Ok(disk) = io::retry_on_intr(|| fs::fstatvfs(&file))
        && !leaves_enough(disk.f_blocks, disk.f_bavail, disk.f_frsize, length as u64)
    {
        return Err(Errno::NOSPC);
    }
    match io::retry_on_intr(|| fs::fallocate(&file, FallocateFlags::empty(), 0, length as u64)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(&file, length),
        result => result,
    }
}

/// Whether enough is left on a disk of so many blocks, some free, when `length` is taken.
fn leaves_enough(blocks: u64, free: u64, block: u64, length: u64) -> bool {
    // Some file systems do not tell, or have no limit: their size is 0.
    let left = LEFT_TO_PROGRAM.min(blocks.saturating_mul(block) / 20);
    blocks == 0 || free.saturating_mul(block) >= length.saturating_add(left)
}

/// For file systems that cannot take room in advance: the room is taken by writing.
fn write_zeros(file: impl rustix::fd::AsFd, length: usize) -> Result<(), Errno> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut at = 0;
    while at < length {
        let some = &ZEROS[..ZEROS.len().min(length - at)];
        at += io::retry_on_intr(|| io::pwrite(&file, some, at as u64))?;
    }
    // A network file system tells only now that there was no room.
    fs::fsync(&file)
}

/// Cuts a file that nobody maps any more to what is used of it.
pub(crate) fn cut(path: &CStr, length: u64) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = fs::open(path, flags, Mode::empty())?;
    fs::ftruncate(&file, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_keeps_the_last_of_the_disk() {
        const GIB: u64 = 1 << 30;
        let enough = |size, free, length| leaves_enough(size / 4096, free / 4096, 4096, length);
        assert!(enough(1000 * GIB, 2 * GIB, GIB));
        assert!(!enough(1000 * GIB, 2 * GIB, GIB + 1));
        assert!(enough(2 * GIB, GIB, 512 << 20), "a twentieth of a small disk");
        assert!(!enough(2 * GIB, 200 << 20, 128 << 20));
        assert!(enough(0, 0, GIB), "a file system that does not tell");
        assert!(!enough(u64::MAX, 0, 1));
    }
}
