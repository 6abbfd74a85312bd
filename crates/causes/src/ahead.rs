//! What lies ahead of a failure: a request that would fit is no use where the rest of the iteration does not.

use std::collections::BTreeMap;

use whyoom_allocators::{GoingOn, Run, needed_to_go_on};
use whyoom_trace::{Bytes, DeviceId, ProcessId, Tables};

use crate::program_lines::ProgramLines;

/// What each run needs to go on after its last failure, where it had been there before and cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ahead(BTreeMap<(ProcessId, DeviceId), TooLarge>);

/// An iteration that no allocator can serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// What is live at once in it.
    pub needed: Bytes,
    /// What the allocator could have.
    pub could_have: Bytes,
    /// Whether the run had been through such an iteration more than once.
    pub is_steady: bool,
}

impl Ahead {
    /// Looks ahead in each run.
    #[must_use]
    pub fn of(runs: &[Run], tables: &Tables) -> Self {
        let lines = ProgramLines::of(tables);
        let too_large = |run: &Run| {
            let could_have = run.workload.known_capacity()?;
            let GoingOn { needed, is_steady } =
                needed_to_go_on(&run.workload, |stack| lines.of_stack(stack))?;
            let found =
                TooLarge { needed: Bytes(needed), could_have: Bytes(could_have), is_steady };
            (needed > could_have).then_some(((run.process, run.device), found))
        };
        Self(runs.iter().filter_map(too_large).collect())
    }

    /// Whether every run may go on, as far as is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, process: ProcessId, device: DeviceId) -> Option<TooLarge> {
        self.0.get(&(process, device)).copied()
    }
}
