//! A lock between processes that survives the death of its owner.

use std::{cell::UnsafeCell, mem::MaybeUninit};

/// A process-shared robust mutex: the kernel passes it on when its owner dies.
#[repr(C)]
pub(super) struct RobustLock(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a process-shared pthread mutex is made to be used from several threads at once.
unsafe impl Sync for RobustLock {}

/// Holds the lock until dropped.
pub(super) struct Guard<'a>(&'a RobustLock);

impl RobustLock {
    /// Makes the lock. To be called once, by whoever makes the file, before anybody else sees it.
    pub(super) fn initialize(&self) {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: `attributes` is initialized before it is used and destroyed after; the mutex is
        // ours alone until the file is published.
        unsafe {
            libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            libc::pthread_mutexattr_setpshared(
                attributes.as_mut_ptr(),
                libc::PTHREAD_PROCESS_SHARED,
            );
            libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutex_init(self.0.get(), attributes.as_ptr());
            libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
        }
    }

    pub(super) fn lock(&self) -> Guard<'_> {
        // SAFETY: the mutex was initialized before the file was published.
        unsafe {
            if libc::pthread_mutex_lock(self.0.get()) == libc::EOWNERDEAD {
                // Nothing to repair: the layout has no state that a death can leave half done.
                libc::pthread_mutex_consistent(self.0.get());
            }
        }
        Guard(self)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // SAFETY: this thread locked it.
        unsafe { libc::pthread_mutex_unlock(self.0.0.get()) };
    }
}
