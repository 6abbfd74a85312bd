//! Children that were forked off a process that uses the pool.
//!
//! CUDA does not work in them, and locks may be held there by threads that do not exist: the pool is
//! not touched any more. Memory that such a child frees is its parent's.

use std::sync::{
    Once,
    atomic::{AtomicBool, Ordering::Relaxed},
};

static FORKED: AtomicBool = AtomicBool::new(false);
static WATCH: Once = Once::new();

extern "C" fn in_child() {
    FORKED.store(true, Relaxed);
}

/// Children notice from now on that they are children.
pub(crate) fn watch() {
    WATCH.call_once(|| {
        // SAFETY: the function only stores to an atomic, which is allowed in a forked child.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Whether this is such a child.
#[inline]
pub(crate) fn is_child() -> bool {
    FORKED.load(Relaxed)
}
