//! What a driver call's error is about. Only some of them tell something of memory.

use crate::result_code::Code;

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No error.
    None,
    /// The call itself: what it asked for is wrong, or not to be had.
    Memory,
    /// A kernel failed before; every call of the context says so from then on.
    Kernel,
    /// The process, its context, a capture or the driver's age: nothing was tried.
    State,
}

/// What an error is about. The numbers are documented, and new ones come with new drivers.
pub(crate) fn cause_of(result: Code) -> Cause {
    match result {
        0 => Cause::None,
        // Invalid value, out of memory, map failed, operating system, registered or not, unknown.
        1 | 2 | 205 | 304 | 712 | 713 | 999 => Cause::Memory,
        // Illegal address, timeout, assert, and the faults of a kernel up to "launch failed".
        700 | 702 | 710 | 714..=719 => Cause::Kernel,
        _ => Cause::State,
    }
}
