//! The recorder's own memory, apart from the program's: a hook may run while the program is inside
//! its allocator, and what it counts there is the program's.

use dlmalloc::GlobalDlmalloc;

#[global_allocator]
static OWN: GlobalDlmalloc = GlobalDlmalloc;

/// Lets a forked child allocate whatever its parent's other threads were doing.
pub(crate) fn survive_forks() {
    // SAFETY: it only registers handlers that take the allocator's lock around a fork.
    unsafe { dlmalloc::enable_alloc_after_fork() };
}
