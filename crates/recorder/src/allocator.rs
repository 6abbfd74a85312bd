//! The recorder's own memory, apart from the program's: a hook may run while the program is inside
//! its allocator, and what it counts there is the program's.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    ptr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use dlmalloc::GlobalDlmalloc;

use crate::record;

#[global_allocator]
static OWN: Own = Own;

/// Where the system has no memory left, a little is there for what is under way, and recording ends:
/// an allocation that failed would end the program.
struct Own;

const RESERVE_BYTES: usize = 1 << 20;

#[repr(align(4096))]
struct Reserve(UnsafeCell<[u8; RESERVE_BYTES]>);

// SAFETY: nothing reads or writes it but who was given a piece of it by `from_reserve`.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve(UnsafeCell::new([0; RESERVE_BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// Lets a forked child allocate whatever its parent's other threads were doing.
pub(crate) fn survive_forks() {
    // SAFETY: it only registers handlers that take the allocator's lock around a fork.
    unsafe { dlmalloc::enable_alloc_after_fork() };
}

// SAFETY: what it gives is dlmalloc's, or a piece of the reserve that is given once and never taken
// back.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's own promise.
        or_reserve(unsafe { GlobalDlmalloc.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: likewise. The reserve is zero, and no piece of it is given twice.
        or_reserve(unsafe { GlobalDlmalloc.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        if !is_of_reserve(piece) {
            // SAFETY: dlmalloc gave it, with this layout.
            unsafe { GlobalDlmalloc.dealloc(piece, layout) };
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_of_reserve(piece) {
            // SAFETY: dlmalloc gave it, with this layout.
            let grown = unsafe { GlobalDlmalloc.realloc(piece, layout, size) };
            if !grown.is_null() {
                return grown;
            }
        }
        // SAFETY: the caller says that the size is a possible one.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !moved.is_null() {
            // SAFETY: both have at least so many bytes, and are not the same.
            unsafe { ptr::copy_nonoverlapping(piece, moved, layout.size().min(size)) };
            // SAFETY: the caller has done with it.
            unsafe { self.dealloc(piece, layout) };
        }
        moved
    }
}

#[inline]
fn or_reserve(given: *mut u8, layout: Layout) -> *mut u8 {
    if given.is_null() { from_reserve(layout) } else { given }
}

#[cold]
fn from_reserve(layout: Layout) -> *mut u8 {
    record::out_of_memory();
    let aligned = |used: usize| used.checked_next_multiple_of(layout.align());
    let end = |used| aligned(used)?.checked_add(layout.size()).filter(|end| *end <= RESERVE_BYTES);
    let Some(offset) = USED.fetch_update(Relaxed, Relaxed, end).ok().and_then(aligned) else {
        return ptr::null_mut();
    };
    // SAFETY: the piece ends within the reserve.
    let piece = unsafe { RESERVE.0.get().cast::<u8>().add(offset) };
    if layout.align() <= align_of::<Reserve>() { piece } else { ptr::null_mut() }
}

fn is_of_reserve(piece: *mut u8) -> bool {
    let offset = piece.addr().wrapping_sub(RESERVE.0.get().addr());
    offset < RESERVE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_given_once() {
        let layout = Layout::from_size_align(100, 64).expect("a layout");
        let (first, second) = (from_reserve(layout), from_reserve(layout));
        assert!(is_of_reserve(first) && is_of_reserve(second));
        assert!(second.addr() >= first.addr() + 100 && second.addr().is_multiple_of(64));
        let large = Layout::from_size_align(RESERVE_BYTES, 1).expect("a layout");
        assert!(from_reserve(large).is_null());
        // SAFETY: given with this layout; the larger one is dlmalloc's.
        unsafe {
            first.write_bytes(7, 100);
            let moved = OWN.realloc(first, layout, 200);
            assert!(!is_of_reserve(moved) && *moved.add(99) == 7);
            OWN.dealloc(moved, Layout::from_size_align(200, 64).expect("a layout"));
            OWN.dealloc(second, layout);
        }
    }
}
