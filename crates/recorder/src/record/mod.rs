//! Recording: what a hook does around the real call.
//!
//! Everything here fails open. A call is recorded or it is not; the program's own call is made
//! either way, once, and its result is not touched. A panic or a refusal of the recording's folder
//! ends recording for this process, with one line on standard error.

pub(crate) mod clock;
mod environment;
mod errors;
mod holdings;
mod ledger;
mod modules;
pub(crate) mod moment;
mod names;
pub(crate) mod place;
pub(crate) mod process;
pub(crate) mod settings;
mod stacks;
mod thread;

use std::panic::{AssertUnwindSafe, catch_unwind};

use whyoom_trace::{Action, DeviceId, Event, MemoryKind, Origin, ResultCode, StackId, Time};

pub(crate) use self::{
    errors::{Cause, cause_of},
    ledger::Held,
    place::Place,
    process::Process,
    thread::Thread,
};
use crate::hook::{Code, Hook};

/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) const OUT_OF_MEMORY: Code = 2;

/// The empty stack. What gives memory back is recorded without one: who took it is what is asked.
pub(crate) const NO_STACK: StackId = StackId(0);

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
    if !process::is_on() {
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
    if process::is_on() {
        guarded(hook, thread::current(), replace);
    }
}

/// Runs a part of the recording: a panic in it ends recording, and the program's `errno` stays.
#[inline]
fn guarded<T>(hook: &'static Hook, thread: &Thread, part: impl FnOnce() -> T) -> Option<T> {
    let place = thread.errno();
    // SAFETY: this thread's own `errno`.
    let errno = unsafe { *place };
    let done = catch_unwind(AssertUnwindSafe(|| {
        process::fault_of(hook);
        part()
    }));
    let done = done.map_err(|_| process::stop(&Panicked(hook))).ok();
    // SAFETY: as above.
    unsafe { *place = errno };
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
        place: Place,
        stack: StackId,
        result: Code,
        action: Action,
    ) {
        let mut event = event(time, place, stack, result, action);
        if place.pool != 0 {
            event.origin.pool = self.process.names.pool(&self.process.part, place.pool);
        }
        if let Err(reason) = self.thread.write(self.process, &event) {
            process::stop(&reason);
        }
    }

    /// Where this call acts.
    #[inline]
    pub(crate) fn here(&self) -> Place {
        place::current(self.thread)
    }

    /// Where memory that is given back lies: where it was taken, whatever is current now.
    #[inline]
    pub(crate) fn place_of(&self, held: Option<Held>) -> Place {
        match held {
            Some(held) => Place::on(held.device).in_context(held.context),
            None => self.here(),
        }
    }

    /// Writes an event that happened just now.
    pub(crate) fn note(&self, place: Place, result: Code, action: Action) {
        self.write(clock::now(), place, self.stack(), result, action);
    }

    /// The stack that led here.
    pub(crate) fn stack(&self) -> StackId {
        self.process.stack()
    }

    /// Writes an allocation, which the driver has made or refused; `time` is after it did.
    pub(crate) fn allocated(
        &self,
        time: u64,
        place: Place,
        (kind, address, size): (MemoryKind, u64, u64),
        result: Code,
    ) {
        if !matches!(cause_of(result), Cause::None | Cause::Memory) {
            return;
        }
        let stack = self.stack();
        let address = if result == 0 { address } else { 0 };
        self.write(time, place, stack, result, ledger::alloc(kind, address, size));
        if result == 0 {
            let live = place.live_device();
            let context = place.context;
            let held = Held { kind, device: place.device, live, size, context, count: 1 };
            self.process.hold(address, held);
        } else {
            self.failed(place, stack, result, size);
        }
    }

    /// Where a call failed for want of memory: what the device and its pools say of themselves.
    pub(crate) fn failed(&self, place: Place, stack: StackId, result: Code, requested: u64) {
        if result == OUT_OF_MEMORY {
            moment::out_of_memory(self, place, stack, requested);
        }
    }

    /// Before memory is given back: when, and what it was. From here on its address may be another's.
    pub(crate) fn freeing(&self, address: u64) -> (u64, Option<Held>) {
        let time = clock::now();
        (time, if address == 0 { None } else { self.process.let_go(address) })
    }

    /// After it was given back, or refused: then it is still there.
    pub(crate) fn freed(
        &self,
        (time, held): (u64, Option<Held>),
        place: Place,
        (kind, address): (MemoryKind, u64),
        result: Code,
    ) {
        if let Some(held) = held.filter(|_| result != 0) {
            self.process.hold(address, held);
        }
        if address != 0 && matches!(cause_of(result), Cause::None | Cause::Memory) {
            // Of a free that was refused it is asked who made it; of others, who took the memory.
            let stack = if result == 0 { NO_STACK } else { self.stack() };
            self.write(time, place, stack, result, ledger::free(kind, address));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.thread.leave();
    }
}

fn event(time: u64, place: Place, stack: StackId, result: Code, action: Action) -> Event {
    let origin = Origin {
        device: place.device,
        context: whyoom_trace::ContextId(place.context as u32),
        stream: whyoom_trace::StreamId(place.stream),
        ..Origin::default()
    };
    Event { time: Time(time), origin, stack, result: ResultCode(result as i32), action }
}

/// A device by the number that the driver gives it; the host where it is none.
pub(crate) fn device_of(ordinal: i32) -> DeviceId {
    u16::try_from(ordinal).map_or(DeviceId::HOST, DeviceId)
}
