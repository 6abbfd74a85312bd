//! The recording of this process: begun with its first event, ended by its own trouble or by exit.

use std::{
    ffi::CStr,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Mutex, OnceLock,
        atomic::{
            AtomicBool, AtomicPtr,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

use whyoom_recording::Stop;
use whyoom_trace::{Action, Counter, DeviceId, FrameId, StackId, StringId};

use super::{
    clock,
    environment::Environment,
    event::{NO_STACK, event},
    fault,
    ledger::Ledger,
    location::Location,
    names::Names,
    part::{self, OwnPart, is_on, stop},
    settings, stacks, thread,
};
use crate::hook::Hook;

/// The recording of one process.
pub(crate) struct Process {
    pub(crate) part: OwnPart,
    pub(crate) names: Names,
    pub(super) callbacks: Callbacks,
    stacks: stacks::Stacks,
    pub(super) ledger: Ledger,
    /// Contexts in which a kernel failed.
    pub(super) broken: Mutex<Vec<u64>>,
    pid: u32,
}

/// What a pool of the driver's says of itself: its handle and its figures.
pub(crate) type PoolFacts = (u64, Vec<(Counter, u64)>);

/// What the recording asks of those above it, who know the hooks. None is asked for every event.
#[derive(Clone, Copy)]
pub(crate) struct Callbacks {
    /// The hook of a name, for faults on demand.
    pub(crate) hook_named: fn(&str) -> Option<&'static Hook>,
    /// What the pools of a device say of themselves, when memory runs out.
    pub(crate) pool_facts: fn(&'static Process, DeviceId) -> Vec<PoolFacts>,
    /// Whether contexts live on more than one device, when the process ends.
    pub(crate) are_on_several_devices: fn(&'static Process) -> bool,
}

/// Beginning takes milliseconds; who waits longer than this for another thread gives up.
const BEGINNING_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_BEGINNING: u32 = 100_000;

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());
static BEGINNING: AtomicBool = AtomicBool::new(false);
static PREPARED: OnceLock<(Environment, Callbacks)> = OnceLock::new();

/// Reads what the process was started with. Called once, before the program's own code.
pub(crate) fn prepare(callbacks: Callbacks) {
    let Some(environment) = Environment::read() else { return };
    let _ = PREPARED.set((environment, callbacks));
    fault::prepare(callbacks.hook_named);
    thread::prepare();
    part::turn_on();
}

/// The recording of this process, begun now if need be.
#[inline]
pub(crate) fn get() -> Option<&'static Process> {
    known().or_else(begin)
}

/// The recording of this process, where it has begun.
#[inline]
pub(crate) fn known() -> Option<&'static Process> {
    // SAFETY: null or made by `begin` and never given back.
    let current = unsafe { CURRENT.load(Acquire).as_ref() };
    // In a forked child it is the parent's, which is not ours to write to.
    current.filter(|process| process.part.is_of_this_process())
}

#[cold]
fn begin() -> Option<&'static Process> {
    let errno = thread::current().errno();
    // SAFETY: this thread's own `errno`.
    let before = unsafe { *errno };
    let process = thread::uncancelled(begin_alone);
    // SAFETY: as above.
    unsafe { *errno = before };
    process
}

/// One thread begins, the others wait for it.
fn begin_alone() -> Option<&'static Process> {
    let mut turns = 0;
    while BEGINNING.swap(true, Acquire) {
        turns += 1;
        if turns > LONGEST_BEGINNING {
            stop(&"it did not start; a fork outside the C library may have interrupted it");
            return None;
        }
        std::thread::sleep(BEGINNING_PAUSE);
    }
    let process = match known() {
        Some(process) => Some(process),
        None if is_on() => create(),
        None => None,
    };
    BEGINNING.store(false, Release);
    process
}

fn create() -> Option<&'static Process> {
    let (environment, callbacks) = PREPARED.get()?;
    let made = catch_unwind(AssertUnwindSafe(|| {
        let process: &'static Process = Box::leak(Box::new(Process::new(environment, *callbacks)?));
        process.part.make_current();
        CURRENT.store(ptr::from_ref(process).cast_mut(), Release);
        settings::write(&process.part, &process.names, &environment.settings);
        environment.warn_invalid();
        Ok::<_, Stop>(process)
    }));
    match made {
        Ok(Ok(process)) => return Some(process),
        Ok(Err(reason)) => stop(&reason),
        Err(_) => stop(&"the recorder itself failed at startup, which is a bug in whyoom"),
    }
    None
}

/// In a forked child: it begins a recording of its own, with its first event.
pub(crate) extern "C" fn after_fork() {
    BEGINNING.store(false, Relaxed);
    thread::current().forget_module();
}

/// When the process ends in order. It may do so in a handler of a signal, which came in the middle of
/// a recorded call: then nothing can be written any more.
pub(crate) fn end() {
    let Some(process) = known().filter(|process| is_on() && process.pid == std::process::id())
    else {
        return;
    };
    let thread = thread::current();
    if thread.enter() {
        thread.end();
        let _ = catch_unwind(AssertUnwindSafe(|| {
            // What a context takes on a device that it does not use can be seen only while it lives.
            if (process.callbacks.are_on_several_devices)(process) {
                process.part.ask_for_look();
            }
            let exit = event(clock::now(), Location::NOWHERE, NO_STACK, 0, Action::Exit);
            thread::write(&process.part, &exit);
            process.part.end();
        }));
        thread.leave();
    }
}

impl Process {
    fn new(environment: &Environment, callbacks: Callbacks) -> Result<Self, Stop> {
        Ok(Self {
            part: OwnPart::create(&environment.folder, environment.options)?,
            names: Names::new(),
            callbacks,
            stacks: stacks::Stacks::new(environment.stacks),
            ledger: Ledger::new(),
            broken: Mutex::new(Vec::new()),
            pid: std::process::id(),
        })
    }

    /// The id of a text; that of none where ring mode has no room for another.
    pub(crate) fn text(&self, text: &CStr) -> StringId {
        self.names.string_within_limit(&self.part, text.to_bytes())
    }

    /// The stack that led here.
    pub(crate) fn stack(&self) -> StackId {
        self.stacks.capture(thread::current(), &self.part, &self.names)
    }

    /// A stack that carries a module and nothing else.
    pub(crate) fn stack_of_module(&self, module: FrameId) -> StackId {
        self.stacks.of_module(module, &self.part)
    }

    /// Writes the settings that the program has changed since it began to use the device.
    pub(crate) fn write_changed_settings(&'static self) {
        settings::write_changed(&self.part, &self.names);
    }
}
