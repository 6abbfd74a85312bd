//! What a family of hooks keeps of the process, beside the memory that the recording knows of.
//!
//! It belongs to one recording. A forked child begins its own with nothing kept: what the parent's
//! other threads were changing when they were left behind, they never finish, and their locks stay.

use std::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        Ordering::{AcqRel, Acquire},
    },
};

use super::process::Process;

/// A family's own, made at its first use in a process.
pub(crate) struct PerProcess<T: 'static> {
    kept: AtomicPtr<Kept<T>>,
}

struct Kept<T> {
    of: &'static Process,
    value: T,
}

impl<T: Default + Send + Sync> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self { kept: AtomicPtr::new(ptr::null_mut()) }
    }

    /// What is kept of that process.
    #[inline]
    pub(crate) fn of(&self, process: &'static Process) -> &'static T {
        // SAFETY: null or put there by `begin`, and never given back.
        match unsafe { self.kept.load(Acquire).as_ref() } {
            Some(kept) if ptr::eq(kept.of, process) => &kept.value,
            _ => self.begin(process),
        }
    }

    /// Begins with nothing, unless another thread has begun meanwhile. What was kept of a parent is left
    /// alone, as its recording is.
    #[cold]
    fn begin(&self, process: &'static Process) -> &'static T {
        let mut made = Box::new(Kept { of: process, value: T::default() });
        loop {
            let before = self.kept.load(Acquire);
            // SAFETY: as in `of`.
            if let Some(kept) = unsafe { before.as_ref() }
                && ptr::eq(kept.of, process)
            {
                return &kept.value;
            }
            let new = Box::into_raw(made);
            match self.kept.compare_exchange(before, new, AcqRel, Acquire) {
                // SAFETY: made from a box just now, and from here on never given back.
                Ok(_) => return unsafe { &(*new).value },
                // SAFETY: made from a box just now, and nobody has seen it.
                Err(_) => made = unsafe { Box::from_raw(new) },
            }
        }
    }
}
