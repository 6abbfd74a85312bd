//! Tables of a thread for its stacks, in a mapping of their own.
//!
//! A preloaded library's thread-local storage is taken from the stack of every thread of the program, so only a pointer
//! to these tables lies there.

use std::{
    cell::{Cell, RefCell},
    mem,
    ptr::{self, addr_of_mut},
};

use whyoom_stacks::{Fingerprint, MAX_FRAMES, Raw};
use whyoom_trace::StackId;

/// Number of recent stacks that a thread remembers: more than a training step of a small model has. Chosen, not
/// measured.
const RECENT_STACKS: usize = 512;

/// The tables. They have nothing to drop.
pub(super) struct Scratch {
    /// Room for one stack.
    room: RefCell<[Raw; MAX_FRAMES]>,
    /// The stacks that came last, each at the index of its fingerprint: a lookup here takes no lock.
    recent: [Cell<(Fingerprint, StackId)>; RECENT_STACKS],
}

impl Scratch {
    /// Maps the tables. Returns null if the system has no memory for them.
    pub(super) fn map() -> *mut Self {
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which replaces none.
        let mapped =
            unsafe { libc::mmap(ptr::null_mut(), mem::size_of::<Self>(), access, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return ptr::null_mut();
        }
        let scratch = mapped.cast::<Self>();
        // SAFETY: the mapping is as large as the tables and aligned to a page. It is zero, which is a valid value of
        // `recent`: numbers only.
        unsafe { addr_of_mut!((*scratch).room).write(RefCell::new([Raw::Native(0); MAX_FRAMES])) };
        scratch
    }

    /// Unmaps the tables.
    ///
    /// # Safety
    /// `map` returned the pointer, and no reference to the tables is left.
    pub(super) unsafe fn unmap(scratch: *mut Self) {
        // SAFETY: the caller says so.
        unsafe { libc::munmap(scratch.cast(), mem::size_of::<Self>()) };
    }

    /// Calls `body` with room for a stack. Returns `None` if the room is in use.
    pub(super) fn with_room<T>(&self, body: impl FnOnce(&mut [Raw; MAX_FRAMES]) -> T) -> Option<T> {
        self.room.try_borrow_mut().ok().map(|mut room| body(&mut room))
    }

    /// Returns the number of a recent stack.
    #[inline]
    pub(super) fn recent(&self, print: Fingerprint) -> Option<StackId> {
        let (known, id) = self.recent[print.0[0] as usize % RECENT_STACKS].get();
        (known == print).then_some(id)
    }

    /// Remembers a stack in place of the one at the same index.
    pub(super) fn remember(&self, print: Fingerprint, id: StackId) {
        self.recent[print.0[0] as usize % RECENT_STACKS].set((print, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_tables_are_empty_and_remember() {
        let scratch = Scratch::map();
        assert!(!scratch.is_null());
        // SAFETY: mapped just now.
        let tables = unsafe { &*scratch };
        let print = Fingerprint([513, 7]);
        assert_eq!(tables.recent(print), None);
        tables.remember(print, StackId(9));
        assert_eq!(tables.recent(print), Some(StackId(9)));
        assert_eq!(tables.recent(Fingerprint([1, 7])), None, "at the same index");
        let inner = tables.with_room(|_| tables.with_room(|_| ()));
        assert_eq!(inner, Some(None), "the room is in use");
        // SAFETY: no reference is left.
        unsafe { Scratch::unmap(scratch) };
    }
}
