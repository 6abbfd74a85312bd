//! Standard error, on which the recorder says the little that it has to say.

use std::sync::OnceLock;

/// What it was when the process began: its device and number.
static IDENTITY: OnceLock<Option<(u64, u64)>> = OnceLock::new();

/// Remembers what it is. Called before the program's own code; nothing is said where it was not.
pub(super) fn remember() {
    let _ = IDENTITY.set(identity());
}

/// Writes a line to it, unless the program has opened something of its own there.
pub(super) fn say(line: &str) {
    let Some(Some(then)) = IDENTITY.get() else { return };
    if Some(*then) == identity() {
        let (file, from) = (libc::STDERR_FILENO, line.as_ptr());
        // The C library's `write` would end a thread here that was cancelled.
        // SAFETY: writes from a string that lives through the call.
        unsafe { libc::syscall(libc::SYS_write, file, from, line.len()) };
    }
}

fn identity() -> Option<(u64, u64)> {
    // SAFETY: all of its fields are numbers, for which zero is a value.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: writes to a place that lives through the call.
    let found = unsafe { libc::fstat(libc::STDERR_FILENO, &mut status) } == 0;
    found.then_some((status.st_dev, status.st_ino))
}
