//! What a thread waits for, by the function of the kernel that it waits in.

/// What ends the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A child that was made so that its parent waits; killing the parent ends it.
    Child,
    /// A file system outside the kernel.
    Remote,
    /// The driver itself.
    Driver,
    /// Not known.
    Other,
}

/// Beginnings of functions; the first that fits counts.
const WAITS: &[(&str, Wait)] = &[
    ("kernel_clone", Wait::Child),
    ("wait_for_vfork", Wait::Child),
    ("_do_fork", Wait::Child),
    ("do_fork", Wait::Child),
    ("fuse_", Wait::Remote),
    ("request_wait_answer", Wait::Remote),
    ("nfs", Wait::Remote),
    ("rpc_", Wait::Remote),
    ("cifs", Wait::Remote),
    ("ceph", Wait::Remote),
    ("ll_", Wait::Remote),
    ("cl_sync_io", Wait::Remote),
    ("ptlrpc", Wait::Remote),
    ("p9_", Wait::Remote),
    ("uvm_", Wait::Driver),
    ("nv_", Wait::Driver),
    ("nvidia", Wait::Driver),
    ("os_acquire", Wait::Driver),
];

/// What the wait in this function is for.
pub(crate) fn wait(function: Option<&str>) -> Wait {
    let function = function.unwrap_or_default();
    WAITS.iter().find(|(begin, _)| function.starts_with(begin)).map_or(Wait::Other, |(_, w)| *w)
}
