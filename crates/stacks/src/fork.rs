//! Keeps this crate out of the loader's list while the process forks.
//!
//! glibc's `fork` does not make `dl_load_write_lock` anew in the child. A thread that is inside
//! `dl_iterate_phdr` while another forks leaves the lock taken in the child for ever, where its
//! holder does not exist, and the child hangs at its next look at the list: a capture, an exception,
//! a `dlopen`. Programs seldom look at the list; a capture does each time, so without this the
//! chance would be ours.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often a fork yields to threads that are inside. They leave within microseconds, unless one
/// was stopped there, or it is the forking thread itself, in a signal's handler.
const WAIT_FOR_THREADS: u32 = 10_000;
/// How often a thread yields to a fork: up to about a second, since a large process takes long to
/// copy. Not for ever: a thread may have a lock that the fork waits for in another's handler.
const WAIT_FOR_FORKS: u32 = 1_000_000;

/// Threads that are inside `dl_iterate_phdr`.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Forks that are under way.
static FORKS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Whether this thread is forking. It must not wait for itself where another handler of the
    /// same fork, or a signal's, captures a stack.
    static FORKING: Cell<bool> = const { Cell::new(false) };
}

/// To be called before the process forks, by the thread that forks: waits, not for long, until no
/// thread is inside the loader's list, and keeps others from entering.
///
/// Each call must be followed by [`after_fork_in_parent`] or [`after_fork_in_child`].
pub fn before_fork() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    FORKING.set(true);
    for _ in 0..WAIT_FOR_THREADS {
        if INSIDE.load(Ordering::SeqCst) == 0 {
            return;
        }
        std::thread::yield_now();
    }
}

/// To be called after a fork, or one that failed, by the thread that forked.
pub fn after_fork_in_parent() {
    FORKING.set(false);
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// To be called in the child, whose only thread forks no more and waits for nobody.
pub fn after_fork_in_child() {
    FORKING.set(false);
    INSIDE.store(0, Ordering::SeqCst);
    FORKS.store(0, Ordering::SeqCst);
}

/// Does something inside the loader's list while no other thread forks.
pub(crate) fn outside_forks<R>(inside: impl FnOnce() -> R) -> R {
    enter();
    let result = inside();
    // Not below 0: the child of a signal's handler that forked in here has counted anew.
    let _ = INSIDE.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
    result
}

/// Counts this thread as inside. It is counted before it looks for forks, and a fork is counted
/// before it looks for threads, so that one of them sees the other.
fn enter() {
    INSIDE.fetch_add(1, Ordering::SeqCst);
    for _ in 0..WAIT_FOR_FORKS {
        if FORKS.load(Ordering::SeqCst) == 0 || FORKING.get() {
            return;
        }
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        std::thread::yield_now();
        INSIDE.fetch_add(1, Ordering::SeqCst);
    }
}
