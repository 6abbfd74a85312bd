//! What each thread has: whether it is inside a call that is recorded, and the file that it writes to.

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

use whyoom_recording::{Lease, Stop};
use whyoom_trace::{DeviceId, Event, FrameId, ThreadId};

use super::{
    part::{OwnPart, stop},
    scratch::Scratch,
};

/// A thread's own. It has nothing to drop, so that it is there to the thread's very end.
pub(crate) struct Thread {
    inside: Cell<bool>,
    /// Where its `errno` is.
    errno: Cell<*mut c_int>,
    /// Where it writes to, made for `part`; that of a parent is left alone.
    lease: Cell<*mut Lease>,
    part: Cell<*const OwnPart>,
    /// The thread is ending: what it takes now, nobody gives back later.
    ending: Cell<bool>,
    /// The module of a model that is at work, by the number of its frame; 0 for none.
    module: Cell<u32>,
    /// A context, how many had ended when it was looked at, and its device.
    device: Cell<(u64, u32, DeviceId)>,
    /// Tables for its stacks, mapped when they are first needed.
    scratch: Cell<*mut Scratch>,
    /// The tables were unmapped, because the thread is ending.
    scratch_unmapped: Cell<bool>,
}

/// The C library's key whose value has it call `end_of_thread`; below 0 where there is none. A
/// thread's value with a destructor would do, but to make one takes the loader's lock and memory of
/// the program's, and both may be in the hands of a thread that waits for this one.
static KEY: AtomicI64 = AtomicI64::new(-1);

thread_local! {
    static THREAD: Thread = const {
        Thread {
            inside: Cell::new(false),
            errno: Cell::new(ptr::null_mut()),
            lease: Cell::new(ptr::null_mut()),
            part: Cell::new(ptr::null()),
            ending: Cell::new(false),
            module: Cell::new(0),
            device: Cell::new((0, 0, DeviceId::HOST)),
            scratch: Cell::new(ptr::null_mut()),
            scratch_unmapped: Cell::new(false),
        }
    };
}

/// Makes the key. Called once, before the program's own code.
pub(super) fn prepare() {
    let mut key = 0;
    // SAFETY: writes the key where it is told to; the function stays, as preloaded libraries do.
    if unsafe { libc::pthread_key_create(&mut key, Some(end_of_thread)) } == 0 {
        KEY.store(key.into(), Relaxed);
    }
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}
/// `PTHREAD_CANCEL_DISABLE`.
const CANCEL_DISABLE: c_int = 1;

/// Does something that may wait or read files, where the C library would end a thread that was
/// cancelled: it must not end in the middle of it.
pub(super) fn uncancelled<T>(part: impl FnOnce() -> T) -> T {
    let (mut before, mut ours) = (0, 0);
    // SAFETY: writes what was there before to a place that lives through the call.
    unsafe { pthread_setcancelstate(CANCEL_DISABLE, &mut before) };
    let done = part();
    // SAFETY: puts that back.
    unsafe { pthread_setcancelstate(before, &mut ours) };
    done
}

/// This thread. To find its values costs as much as the rest of entering a call: it is done once.
#[inline]
pub(crate) fn current() -> &'static Thread {
    // SAFETY: never dropped, so that it lives as long as the thread; not `Sync`, so that no other
    // thread gets it.
    THREAD.with(|thread| unsafe { &*ptr::from_ref(thread) })
}

/// Where this thread's module stands. Only the thread itself may write there.
pub(crate) fn module_cell() -> *mut u32 {
    current().module.as_ptr()
}

/// Writes an event to this thread's file; where that is refused, recording ends.
pub(super) fn write(part: &'static OwnPart, event: &Event) {
    if let Err(reason) = current().write(part, event) {
        stop(&reason);
    }
}

impl Thread {
    /// Enters a recorded call, unless the thread is in one.
    #[inline]
    pub(super) fn enter(&self) -> bool {
        !self.inside.replace(true)
    }

    /// Whether it is in one.
    #[inline]
    pub(super) fn is_inside(&self) -> bool {
        self.inside.get()
    }

    /// Leaves it.
    #[inline]
    pub(super) fn leave(&self) {
        self.inside.set(false);
    }

    /// The module that is at work.
    #[inline]
    pub(super) fn module(&self) -> Option<FrameId> {
        Some(FrameId(self.module.get())).filter(|module| module.0 != 0)
    }

    /// After a fork the parent's modules have no numbers any more.
    pub(super) fn forget_module(&self) {
        self.module.set(0);
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

    /// Returns the thread's tables for stacks. Returns `None` if the thread is ending or the system has no memory.
    #[inline]
    pub(super) fn scratch(&self) -> Option<&Scratch> {
        // SAFETY: null or a mapping of this thread's, which `unmap_scratch` unmaps only when the thread
        // ends.
        unsafe { self.scratch.get().as_ref() }.or_else(|| self.map_scratch())
    }

    #[cold]
    fn map_scratch(&self) -> Option<&Scratch> {
        if self.scratch_unmapped.get() {
            return None;
        }
        let scratch = Scratch::map();
        self.scratch.set(scratch);
        // SAFETY: null or mapped just now.
        unsafe { scratch.as_ref() }
    }

    /// Unmaps the tables. From then on the thread has no stacks.
    fn unmap_scratch(&self) {
        self.scratch_unmapped.set(true);
        let scratch = self.scratch.replace(ptr::null_mut());
        if !scratch.is_null() {
            // SAFETY: mapped by `map_scratch`, and taken out of its place just now.
            unsafe { Scratch::unmap(scratch) };
        }
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
    pub(super) fn write(&self, part: &'static OwnPart, event: &Event) -> Result<(), Stop> {
        let mut lease = self.lease.get();
        if lease.is_null() || !ptr::eq(self.part.get(), part) {
            lease = self.take_lease(part)?;
        }
        // SAFETY: made from a box by `take_lease`, and only this thread has it.
        let written = unsafe { &mut *lease }.event(part, event);
        if self.ending.get() {
            self.give_back();
        }
        written
    }

    /// A file of this process's to write to. One that was taken before a fork is the parent's: it is
    /// left, not given back.
    #[cold]
    fn take_lease(&self, part: &'static OwnPart) -> Result<*mut Lease, Stop> {
        let lease = Box::into_raw(Box::new(part.lease(number())?));
        self.part.set(part);
        self.lease.set(lease);
        if !will_be_told() {
            self.ending.set(true);
        }
        Ok(lease)
    }

    /// From now on nothing is kept from one event to the next.
    pub(super) fn end(&self) {
        self.ending.set(true);
    }

    fn give_back(&self) {
        let lease = self.lease.replace(ptr::null_mut());
        if !lease.is_null() && OwnPart::is_current(self.part.get()) {
            // SAFETY: made from a box by `take_lease`, taken out of its place just now.
            drop(unsafe { Box::from_raw(lease) });
        }
    }
}

/// Has `end_of_thread` called when this thread ends; whether it will be.
fn will_be_told() -> bool {
    // SAFETY: the key is ours, and the value only has to be another than null.
    let set = |key| unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) } == 0;
    libc::pthread_key_t::try_from(KEY.load(Relaxed)).is_ok_and(set)
}

/// Gives back what the thread writes to, when it ends. What other values' ends do later gives back
/// at once what it takes.
unsafe extern "C" fn end_of_thread(_value: *mut c_void) {
    let thread = current();
    let was_inside = thread.inside.replace(true);
    thread.end();
    let _ = catch_unwind(AssertUnwindSafe(|| {
        thread.give_back();
        whyoom_stacks::end_of_thread();
    }));
    // The thread's frames are gone by now, also if it ended inside a recorded call.
    thread.unmap_scratch();
    thread.inside.set(was_inside);
}

fn number() -> ThreadId {
    // The function of this name is new in glibc 2.30, and a container may have an older one.
    // SAFETY: a plain system call without arguments.
    ThreadId(unsafe { libc::syscall(libc::SYS_gettid) } as u32)
}
