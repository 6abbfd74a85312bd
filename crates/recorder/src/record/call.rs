//! A call of the program's while it is recorded: what a hook does around the real one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whyoom_trace::{Action, StackId};

use super::{
    clock, current_context,
    errors::{Cause, cause_of},
    event::event,
    fault,
    location::Location,
    part,
    process::{self, Process},
    thread::{self, Thread},
};
use crate::{hook::Hook, result_code::Code};

/// A call of the program's that is being recorded. While it lives, calls that the driver or we make
/// on this thread are not: they are not the program's.
pub(crate) struct Call {
    pub(crate) hook: &'static Hook,
    pub(crate) process: &'static Process,
    thread: &'static Thread,
}

/// Begins to record a call; nothing where it is not to be recorded.
#[inline]
pub(crate) fn enter(hook: &'static Hook) -> Option<Call> {
    if !part::is_on() {
        return None;
    }
    let thread = thread::current();
    if !thread.enter() {
        return None;
    }
    match process::get() {
        Some(process) => Some(Call { hook, process, thread }),
        None => {
            thread.leave();
            None
        }
    }
}

/// Whether this thread is in a call that is being recorded.
#[inline]
pub(crate) fn is_inside() -> bool {
    thread::current().is_inside()
}

/// Runs what a hook does to a look-up, which writes no event.
pub(crate) fn look_up(hook: &'static Hook, replace: impl FnOnce()) {
    if part::is_on() {
        guarded(hook, thread::current(), replace);
    }
}

/// Runs a part of the recording: a panic in it ends recording, and the program's `errno` stays.
#[inline]
fn guarded<T>(hook: &'static Hook, thread: &Thread, part: impl FnOnce() -> T) -> Option<T> {
    let at = thread.errno();
    // SAFETY: this thread's own `errno`.
    let errno = unsafe { *at };
    let done = catch_unwind(AssertUnwindSafe(|| {
        fault::fault_of(hook);
        part()
    }));
    let done = done.map_err(|_| part::stop(&Panicked(hook))).ok();
    // SAFETY: as above.
    unsafe { *at = errno };
    done
}

struct Panicked(&'static Hook);

impl std::fmt::Display for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.0.symbol.to_string_lossy();
        write!(f, "the recorder itself failed at {name}, which is a bug in whyoom")
    }
}

impl Call {
    /// Runs what comes before the real call.
    #[inline]
    pub(crate) fn before<T>(&self, before: impl FnOnce(&Self) -> T) -> Option<T> {
        guarded(self.hook, self.thread, || before(self))
    }

    /// Runs what comes after the real call. Where the part before it failed, nothing does.
    #[inline]
    pub(crate) fn after<T>(
        self,
        begun: Option<T>,
        result: Code,
        after: impl FnOnce(&Self, T, Code),
    ) {
        let Some(begun) = begun else { return };
        guarded(self.hook, self.thread, || {
            after(&self, begun, result);
            if result != 0 && cause_of(result) == Cause::Kernel {
                self.process.mark_broken(self.here().context);
            }
        });
    }

    /// Writes an event.
    #[inline]
    pub(crate) fn write(
        &self,
        time: u64,
        location: Location,
        stack: StackId,
        result: Code,
        action: Action,
    ) {
        let mut event = event(time, location, stack, result, action);
        if location.pool != 0 {
            event.origin.pool = self.process.names.pool(&self.process.part, location.pool);
        }
        if let Err(reason) = self.thread.write(&self.process.part, &event) {
            part::stop(&reason);
        }
    }

    /// Where this call acts.
    #[inline]
    pub(crate) fn here(&self) -> Location {
        current_context::current(self.thread)
    }

    /// Writes an event that happened just now.
    pub(crate) fn note(&self, location: Location, result: Code, action: Action) {
        self.write(clock::now(), location, self.stack(), result, action);
    }

    /// The stack that led here.
    pub(crate) fn stack(&self) -> StackId {
        self.process.stack()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.thread.leave();
    }
}
