//! Telling a forked child from its parent without a system call.

use std::{
    ptr::{self, NonNull},
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::{
    io::Errno,
    mm::{self, Advice, MapFlags, ProtFlags},
};

/// Knows whether this is still the process that it was made in.
///
/// It is a page that the kernel hands to a forked child empty. A child made by `vfork` shares its
/// parent's memory until it calls `exec`, and counts as the parent.
#[derive(Debug)]
pub struct ForkGuard(NonNull<AtomicU32>);

// SAFETY: the page is only ever read, and never given back while the guard lives.
unsafe impl Send for ForkGuard {}
// SAFETY: as above.
unsafe impl Sync for ForkGuard {}

/// The page's length. It is a multiple of the page size of every machine that CUDA runs on.
const PAGE: usize = 64 << 10;

impl ForkGuard {
    /// A guard for this process.
    ///
    /// # Errors
    /// Where the kernel has no memory for it, or is older than Linux 4.14.
    pub fn new() -> Result<Self, super::Stop> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory at a place of the kernel's choice.
        let page =
            unsafe { mm::mmap_anonymous(ptr::null_mut(), PAGE, protection, MapFlags::PRIVATE)? };
        let guard = Self(NonNull::new(page.cast()).ok_or(Errno::NOMEM)?);
        // SAFETY: the whole of what was just mapped, which nothing else refers to.
        unsafe { mm::madvise(page, PAGE, Advice::LinuxWipeOnFork)? };
        guard.word().store(1, Ordering::Relaxed);
        Ok(guard)
    }

    /// Whether this is the process that the guard was made in.
    #[must_use]
    #[inline]
    pub fn is_same_process(&self) -> bool {
        self.word().load(Ordering::Relaxed) != 0
    }

    #[inline]
    fn word(&self) -> &AtomicU32 {
        // SAFETY: the page is aligned and mapped as long as the guard lives.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for ForkGuard {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; nothing refers to it any more.
        let _ = unsafe { mm::munmap(self.0.as_ptr().cast(), PAGE) };
    }
}
