//! What is known of one process beside its memory: its contexts, limits, failed calls, its end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyoom_trace::{
    Action, Address, Bytes, ContextId, DeviceId, Event, Limit, MemoryKind, ResultCode, StackId,
    StringId, SyncScope, Tables, ThreadId, Time, driver_call_purpose,
};

use crate::{
    event_counts::{EventCounter, EventCounts},
    interface::Interface,
};

/// Failures beyond these are counted, not kept.
const MAX_FAILURES: usize = 64;

/// The driver's code for too little memory.
const OUT_OF_MEMORY: ResultCode = ResultCode(2);

/// The driver's code for an argument that is wrong.
const INVALID_VALUE: ResultCode = ResultCode(1);

/// What is known of one process beside its memory.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Process {
    contexts: BTreeMap<DeviceId, Contexts>,
    limits: BTreeMap<(DeviceId, Limit), u64>,
    failures: Vec<Failure>,
    failures_seen: u64,
    refused_frees: Vec<Failure>,
    refused_frees_seen: u64,
    successes: u64,
    code_loads: u64,
    refused: Option<Interface>,
    /// The last call of each thread that is no allocation and that the driver had no memory for.
    #[serde(default)]
    refused_calls: BTreeMap<ThreadId, RefusedCall>,
    event_counter: EventCounter,
    exited: Option<Time>,
}

/// The contexts of a process on one device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contexts {
    /// Those that are open.
    pub open: Vec<ContextId>,
    /// The call that opened the last of them.
    pub stack: StackId,
}

/// A driver call that is no allocation and failed because memory ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct RefusedCall {
    name: StringId,
    stack: StackId,
}

/// A call that failed: a launch, a copy, a free or a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What failed.
    pub call: FailedCall,
    /// On which device.
    pub device: DeviceId,
    /// How: the driver's code.
    pub result: ResultCode,
    /// Who called.
    pub stack: StackId,
    /// When.
    pub time: Time,
    /// Calls of the process that had succeeded before.
    before: u64,
}

/// A call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailedCall {
    /// A kernel launch.
    Launch {
        /// The kernel's name.
        kernel: StringId,
        /// The dynamic shared memory that it asked for.
        shared_memory: Bytes,
    },
    /// A copy or a fill.
    Copy {
        /// The driver's name for it.
        call: StringId,
    },
    /// A free: nothing lies at that address, and what it was meant for stays.
    Free {
        /// The interface that it was made through.
        kind: MemoryKind,
    },
    /// A wait for the device: a kernel that had been launched failed.
    Synchronize(SyncScope),
}

impl Process {
    /// The contexts on each device.
    #[must_use]
    pub fn contexts(&self) -> &BTreeMap<DeviceId, Contexts> {
        &self.contexts
    }

    /// Whether a context is open on a device.
    #[must_use]
    pub fn has_context_on(&self, device: DeviceId) -> bool {
        self.contexts.get(&device).is_some_and(|contexts| !contexts.open.is_empty())
    }

    /// A limit that the process set on a device.
    #[must_use]
    pub fn limit(&self, device: DeviceId, limit: Limit) -> Option<u64> {
        self.limits.get(&(device, limit)).copied()
    }

    /// Launches, copies and waits that failed, the first of very many.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// How many failed.
    #[must_use]
    pub fn failures_seen(&self) -> u64 {
        self.failures_seen
    }

    /// Frees that were refused, the first of very many. What was freed before, a program may free once more
    /// without harm.
    #[must_use]
    pub fn refused_frees(&self) -> &[Failure] {
        &self.refused_frees
    }

    /// How many were.
    #[must_use]
    pub fn refused_frees_seen(&self) -> u64 {
        self.refused_frees_seen
    }

    /// How many allocations and waits succeeded after a failure, as if nothing had happened.
    #[must_use]
    pub fn went_on_after(&self, failure: &Failure) -> u64 {
        self.successes - failure.before
    }

    /// How many modules and libraries were loaded onto its devices.
    #[must_use]
    pub fn code_loads(&self) -> u64 {
        self.code_loads
    }

    /// When the process ended in order, if it did.
    #[must_use]
    pub fn exited(&self) -> Option<Time> {
        self.exited
    }

    /// How far it has come in its work.
    #[must_use]
    pub fn event_counts(&self) -> EventCounts {
        self.event_counter.so_far()
    }

    /// How far it was when it took from the driver what it still has there.
    #[must_use]
    pub fn work_before(&self, key: Address) -> Option<EventCounts> {
        self.event_counter.at_birth(key)
    }

    /// The interface whose request was refused last.
    pub(crate) fn refused(&self) -> Option<Interface> {
        self.refused
    }

    /// Returns the name of the driver call behind an out-of-memory event if it is no allocation. Returns `None` for an
    /// allocation, a launch, a context or code.
    pub(crate) fn refused_call(&self, failure: &Event) -> Option<StringId> {
        let call = self.refused_calls.get(&failure.origin.thread)?;
        (call.stack == failure.stack && failure.result == OUT_OF_MEMORY).then_some(call.name)
    }

    /// Takes an event of this process.
    pub(crate) fn event(&mut self, event: &Event, tables: &Tables) {
        let (device, succeeded) = (event.origin.device, event.result == ResultCode(0));
        self.event_counter.event(event);
        self.note_refused_call(event, tables);
        match event.action {
            Action::ContextCreate if succeeded => {
                let contexts = self.contexts.entry(device).or_default();
                contexts.open.push(event.origin.context);
                contexts.stack = event.stack;
            }
            Action::ContextDestroy if succeeded => {
                if let Some(contexts) = self.contexts.get_mut(&device) {
                    let known = contexts.open.iter().position(|id| *id == event.origin.context);
                    known.map(|index| contexts.open.remove(index));
                }
            }
            Action::LimitSet { limit, value } if succeeded => {
                self.limits.insert((device, limit), value);
            }
            Action::CodeLoad { .. } if succeeded => self.code_loads += 1,
            Action::LaunchFailed { kernel: call, .. } if is_copy(tables.text(call)) => {
                self.failure(event, FailedCall::Copy { call });
            }
            // The failure that follows it is counted. A ring whose table of names is full has no name.
            Action::LaunchFailed { kernel, .. }
                if is_driver_call(kernel, tables)
                    || (event.result == OUT_OF_MEMORY && tables.text(kernel).is_empty()) => {}
            Action::LaunchFailed { kernel, shared_memory } => {
                self.failure(event, FailedCall::Launch { kernel, shared_memory });
            }
            Action::Synchronize { scope } if !succeeded => {
                self.failure(event, FailedCall::Synchronize(scope));
            }
            Action::Free { kind, .. } if event.result == INVALID_VALUE => {
                self.refused_frees_seen += 1;
                let failure = self.failed(event, FailedCall::Free { kind });
                keep(&mut self.refused_frees, failure);
            }
            Action::Alloc { kind, .. } if !succeeded => self.refused = Some(kind.into()),
            Action::Create { .. } if !succeeded => self.refused = Some(Interface::Virtual),
            Action::Exit => self.exited = Some(event.time),
            Action::Synchronize { .. } | Action::Alloc { .. } | Action::Create { .. }
                if succeeded =>
            {
                self.successes += 1;
            }
            _ => {}
        }
    }

    /// Remembers a driver call that failed because memory ran out, until another event of its thread fails
    /// for lack of memory.
    fn note_refused_call(&mut self, event: &Event, tables: &Tables) {
        if event.result != OUT_OF_MEMORY {
            return;
        }
        let thread = event.origin.thread;
        match event.action {
            Action::LaunchFailed { kernel: name, .. } if is_driver_call(name, tables) => {
                self.refused_calls.insert(thread, RefusedCall { name, stack: event.stack });
            }
            // The failure of that call itself.
            Action::OutOfMemory { requested: Bytes::ZERO } => {}
            _ => {
                self.refused_calls.remove(&thread);
            }
        }
    }

    fn failure(&mut self, event: &Event, call: FailedCall) {
        self.failures_seen += 1;
        let failure = self.failed(event, call);
        keep(&mut self.failures, failure);
    }

    fn failed(&self, event: &Event, call: FailedCall) -> Failure {
        Failure {
            call,
            device: event.origin.device,
            result: event.result,
            stack: event.stack,
            time: event.time,
            before: self.successes,
        }
    }
}

fn keep(failures: &mut Vec<Failure>, failure: Failure) {
    if failures.len() < MAX_FAILURES {
        failures.push(failure);
    }
}

/// Returns true if the name is one of a driver call, and not of a kernel.
fn is_driver_call(name: StringId, tables: &Tables) -> bool {
    driver_call_purpose(tables.text(name)).is_some()
}

/// Whether what failed is a function of the driver, and no kernel.
fn is_copy(name: &str) -> bool {
    name.starts_with("cuMemcpy") || name.starts_with("cuMemset")
}
