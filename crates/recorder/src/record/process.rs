//! The recording of this process: begun with its first event, ended by its own trouble or by exit.

use std::{
    ffi::CStr,
    fmt::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Mutex, OnceLock,
        atomic::{
            AtomicBool, AtomicPtr,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

use whyoom_recording::{ForkGuard, Part, Stop};
use whyoom_trace::{Action, Event, StackId, StringId};

use super::{
    NO_STACK, Place, clock,
    environment::Environment,
    event,
    ledger::{Ledger, NO_MEMORY},
    names::Names,
    settings, stacks, thread,
};
use crate::{family::State, hook::Hook};

/// The recording of one process.
pub(crate) struct Process {
    pub(crate) part: Part,
    pub(crate) names: Names,
    /// What the families keep.
    pub(crate) state: State,
    stacks: stacks::Stacks,
    pub(super) ledger: Ledger,
    /// Contexts in which a kernel failed.
    pub(super) broken: Mutex<Vec<u64>>,
    same: ForkGuard,
    pid: u32,
}

/// Beginning takes milliseconds; who waits longer than this for another thread gives up.
const BEGINNING_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_BEGINNING: u32 = 100_000;

static ON: AtomicBool = AtomicBool::new(false);
static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());
static BEGINNING: AtomicBool = AtomicBool::new(false);
static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
/// The hook whose recording is to fail, for tests.
static FAULT: AtomicPtr<Hook> = AtomicPtr::new(ptr::null_mut());

/// Reads what the process was started with. Called once, before the program's own code.
pub(crate) fn prepare() {
    let Some(environment) = Environment::read() else { return };
    let _ = ENVIRONMENT.set(environment);
    if let Ok(fault) = std::env::var("WHYOOM_RECORDER_FAULT")
        && let Some(hook) = crate::hook::named(&fault)
    {
        FAULT.store(ptr::from_ref(hook).cast_mut(), Relaxed);
    }
    thread::prepare();
    ON.store(true, Release);
}

/// Whether calls are recorded.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
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
    current.filter(|process| process.same.is_same_process())
}

/// Whether that is this process's recording.
pub(super) fn is_current(process: *const Process) -> bool {
    known().is_some_and(|known| ptr::eq(known, process))
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
            stop(&"it did not begin; a fork without the C library's knowledge may have cut it off");
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
    let environment = ENVIRONMENT.get()?;
    let made = catch_unwind(AssertUnwindSafe(|| {
        let process: &'static Process = Box::leak(Box::new(Process::new(environment)?));
        CURRENT.store(ptr::from_ref(process).cast_mut(), Release);
        settings::write(process, &environment.settings);
        environment.say_nonsense();
        Ok::<_, Stop>(process)
    }));
    match made {
        Ok(Ok(process)) => return Some(process),
        Ok(Err(reason)) => stop(&reason),
        Err(_) => stop(&"the recorder itself failed when it began, which is a bug in whyoom"),
    }
    None
}

/// Ends recording in this process and says why, once.
#[cold]
pub(crate) fn stop(reason: &dyn fmt::Display) {
    if !ON.swap(false, AcqRel) {
        return;
    }
    let mut line = String::new();
    let _ = writeln!(line, "whyoom: recording stopped: {reason}; the program goes on");
    if let Some(process) = known() {
        process.part.stopped(&reason.to_string());
    }
    if let Some(environment) = ENVIRONMENT.get() {
        environment.say(&line);
    }
}

/// Ends recording where the recorder has no memory left. Whoever asks for memory may hold any of our
/// locks, so that only what takes none is done.
#[cold]
pub(crate) fn out_of_memory() {
    if !ON.swap(false, AcqRel) {
        return;
    }
    if let Some(process) = known() {
        process.part.stopped(NO_MEMORY);
    }
    if let Some(environment) = ENVIRONMENT.get() {
        for piece in ["whyoom: recording stopped: ", NO_MEMORY, "; the program goes on\n"] {
            environment.say(piece);
        }
    }
}

/// Fails where a test asked for it.
#[inline]
pub(crate) fn fault_of(hook: &'static Hook) {
    if ptr::eq(FAULT.load(Relaxed), hook) {
        fail_on_demand();
    }
}

#[cold]
#[allow(clippy::panic, reason = "the fault that a test asked for")]
fn fail_on_demand() {
    panic!("asked for by WHYOOM_RECORDER_FAULT");
}

/// In a forked child: it begins a recording of its own, with its first event.
pub(crate) extern "C" fn after_fork() {
    BEGINNING.store(false, Relaxed);
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
            if process.state.contexts.are_on_several_devices() {
                process.part.ask_for_look();
            }
            let exit = event(clock::now(), Place::NOWHERE, NO_STACK, 0, Action::Exit);
            process.write(&exit);
            process.part.end();
        }));
        thread.leave();
    }
}

impl Process {
    fn new(environment: &Environment) -> Result<Self, Stop> {
        let part = Part::create(&environment.folder, environment.options)?;
        Ok(Self {
            part,
            names: Names::new(),
            state: State::default(),
            stacks: stacks::Stacks::new(environment.stacks),
            ledger: Ledger::new(),
            broken: Mutex::new(Vec::new()),
            same: ForkGuard::new()?,
            pid: std::process::id(),
        })
    }

    /// Writes an event; where that is refused, recording ends.
    pub(crate) fn write(&'static self, event: &Event) {
        if let Err(reason) = thread::current().write(self, event) {
            stop(&reason);
        }
    }

    /// The id of a text.
    pub(crate) fn text(&self, text: &CStr) -> StringId {
        self.names.string(&self.part, text.to_bytes())
    }

    /// The stack that led here.
    pub(crate) fn stack(&self) -> StackId {
        self.stacks.capture(&self.part, &self.names)
    }
}
