//! The library's beginning and end in a process.

use std::ffi::c_int;

use crate::{
    allocator,
    family::{contexts, pools},
    hook_table,
    record::{self, Callbacks},
    resolution::{lookup_log, real},
    serve,
};

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn begin() {
    // Our own copy of the standard library has a hook of its own: the program's is not touched.
    // What a panic has to say is said in one line, by whoever catches it.
    std::panic::set_hook(Box::new(|_| {}));
    real::find_loader();
    allocator::survive_forks();
    // SAFETY: the handlers store words and wait for other threads, not for long.
    unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork));
    }
    lookup_log::prepare();
    record::prepare(Callbacks {
        hook_named: hook_table::named,
        pool_facts: pools::facts,
        are_on_several_devices: contexts::are_on_several_devices,
    });
    serve::prepare();
}

extern "C" fn end() {
    record::end();
}

unsafe extern "C" fn before_fork() {
    whyoom_stacks::before_fork();
}

unsafe extern "C" fn after_fork_in_parent() {
    whyoom_stacks::after_fork_in_parent();
}

unsafe extern "C" fn after_fork() {
    whyoom_stacks::after_fork_in_child();
    record::after_fork();
}

/// The hook of `_exit`: a process that ends at once has ended in order too. Python ends the children
/// of `multiprocessing` so. A child of `vfork`, whose memory is its parent's, is told apart by its
/// number.
///
/// # Safety
/// That of `_exit`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _exit(status: c_int) -> ! {
    record::end();
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    // SAFETY: should it not have, nothing may go on.
    unsafe { libc::abort() }
}

/// The hook of `_Exit`, which is the same.
///
/// # Safety
/// That of `_Exit`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: the caller's own promise.
    unsafe { _exit(status) }
}
