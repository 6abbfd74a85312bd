//! Where the program says that it is: an iteration begins, or a phase.
//!
//! `whyoom.mark` of the Python package finds `whyoom_recorder_mark` by name among the libraries of the
//! process, and so can any other program. A mark is the process's, on no device: the reader takes it for
//! all of them.

use std::{
    collections::HashMap,
    ffi::{CStr, c_char},
    ptr,
    sync::{Mutex, PoisonError},
};

use foldhash::fast::FixedState;
use whyoom_trace::{Action, MarkKind, StringId};

use crate::{
    hook::{Family, Hook, Need},
    record::{self, Call, Location, NO_STACK, PerProcess, clock},
};

/// A longer name is cut off.
const LONGEST_NAME: usize = 256;
/// Names such as "step 100000" are many, and each is kept for as long as the process lives. Marks with
/// names beyond these are recorded without.
const MOST_NAMES: usize = 4096;

/// What `whyoom_recorder_mark` calls an iteration; everything else is a phase.
const ITERATION: u32 = 0;

static MARKED: Hook = Hook::new(
    c"whyoom_recorder_mark",
    "whyoom_recorder_mark",
    (0, 0),
    false,
    Need::Optional,
    Family::Mark,
    ptr::null(),
);

/// The hook that stands for marks, for faults on demand.
pub(crate) static HOOKS: &[&Hook] = &[&MARKED];

/// The names that marks have had.
#[derive(Debug, Default)]
struct MarkNames {
    names: Mutex<HashMap<Box<[u8]>, StringId, FixedState>>,
}

static NAMES: PerProcess<MarkNames> = PerProcess::new();

/// Records a mark: an iteration (0) or a phase (1) of this name begins. 1 where it was recorded.
///
/// # Safety
/// The name is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_recorder_mark(kind: u32, name: *const c_char) -> u32 {
    let Some(call) = record::enter(&MARKED) else { return 0 };
    let mut marked = 0;
    call.after(Some(()), 0, |call, (), _| {
        let kind = if kind == ITERATION { MarkKind::Iteration } else { MarkKind::Phase };
        // SAFETY: the caller says so.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        let action = Action::Mark { kind, name: name_of(call, name.to_bytes()) };
        call.write(clock::now(), Location::NOWHERE, NO_STACK, 0, action);
        marked = 1;
    });
    marked
}

fn name_of(call: &Call, name: &[u8]) -> StringId {
    let name = &name[..name.len().min(LONGEST_NAME)];
    let process = call.process;
    let mut names = NAMES.of(process).names.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return *known;
    }
    if names.len() >= MOST_NAMES {
        return StringId(0);
    }
    let id = process.names.string(&process.part, name);
    names.insert(name.into(), id);
    id
}
