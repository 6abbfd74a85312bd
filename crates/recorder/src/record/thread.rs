//! What each thread has: whether it is inside a call that is recorded, and the file that it writes to.

use std::{
    cell::Cell,
    ffi::c_int,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use whyoom_recording::{Lease, Stop};
use whyoom_trace::{DeviceId, Event, ThreadId};

use super::process::{self, Process};

/// A thread's own. It has nothing to drop, so that it is there to the thread's very end.
pub(crate) struct Thread {
    inside: Cell<bool>,
    /// Where its `errno` is.
    errno: Cell<*mut c_int>,
    /// Where it writes to, made for `process`; that of a parent is left alone.
    lease: Cell<*mut Lease>,
    process: Cell<*const Process>,
    /// The thread is ending: what it takes now, nobody gives back later.
    ending: Cell<bool>,
    /// A context, how many had ended when it was looked at, and its device.
    device: Cell<(u64, u32, DeviceId)>,
}

/// Gives back what the thread writes to, when it ends.
struct End;

thread_local! {
    static THREAD: Thread = const {
        Thread {
            inside: Cell::new(false),
            errno: Cell::new(ptr::null_mut()),
            lease: Cell::new(ptr::null_mut()),
            process: Cell::new(ptr::null()),
            ending: Cell::new(false),
            device: Cell::new((0, 0, DeviceId::HOST)),
        }
    };
    static END: End = const { End };
}

/// This thread. To find its values costs as much as the rest of entering a call: it is done once.
#[inline]
pub(crate) fn current() -> &'static Thread {
    // SAFETY: never dropped, so that it lives as long as the thread; not `Sync`, so that no other
    // thread gets it.
    THREAD.with(|thread| unsafe { &*ptr::from_ref(thread) })
}

impl Thread {
    /// Enters a recorded call, unless the thread is in one.
    #[inline]
    pub(super) fn enter(&self) -> bool {
        !self.inside.replace(true)
    }

    /// Leaves it.
    #[inline]
    pub(super) fn leave(&self) {
        self.inside.set(false);
    }

    /// The place of the thread's `errno`.
    #[inline]
    pub(super) fn errno(&self) -> *mut c_int {
        let known = self.errno.get();
        if !known.is_null() {
            return known;
        }
        // SAFETY: the C library answers with the place of this thread's number, which stays.
        let found = unsafe { libc::__errno_location() };
        self.errno.set(found);
        found
    }

    #[inline]
    pub(super) fn known_device(&self, context: u64, ended: u32) -> Option<DeviceId> {
        let (known, at, device) = self.device.get();
        (known == context && at == ended).then_some(device)
    }

    pub(super) fn know_device(&self, context: u64, ended: u32, device: DeviceId) {
        self.device.set((context, ended, device));
    }

    /// Writes an event to the thread's file.
    #[inline]
    pub(super) fn write(&self, process: &'static Process, event: &Event) -> Result<(), Stop> {
        let mut lease = self.lease.get();
        if lease.is_null() || !ptr::eq(self.process.get(), process) {
            lease = self.take_lease(process)?;
        }
        // SAFETY: made from a box by `take_lease`, and only this thread has it.
        let written = unsafe { &mut *lease }.event(&process.part, event);
        if self.ending.get() {
            self.give_back();
        }
        written
    }

    /// A file of this process's to write to. One that was taken before a fork is the parent's: it is
    /// left, not given back.
    #[cold]
    fn take_lease(&self, process: &'static Process) -> Result<*mut Lease, Stop> {
        let lease = Box::into_raw(Box::new(process.part.lease(number())?));
        self.process.set(process);
        self.lease.set(lease);
        // Where the thread's values are being dropped already, nobody will drop this one.
        if END.try_with(|_| ()).is_err() {
            self.ending.set(true);
        }
        Ok(lease)
    }

    fn give_back(&self) {
        let lease = self.lease.replace(ptr::null_mut());
        if !lease.is_null() && process::is_current(self.process.get()) {
            // SAFETY: made from a box by `take_lease`, taken out of its place just now.
            drop(unsafe { Box::from_raw(lease) });
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let thread = current();
        let was_inside = thread.inside.replace(true);
        thread.ending.set(true);
        let _ = catch_unwind(AssertUnwindSafe(|| thread.give_back()));
        thread.inside.set(was_inside);
    }
}

fn number() -> ThreadId {
    // SAFETY: a plain system call without arguments.
    ThreadId(unsafe { libc::gettid() } as u32)
}
