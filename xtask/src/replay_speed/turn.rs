//! A stretch of a run that ends as it began, so that it can be repeated without end.

use anyhow::{Context, Result};
use harness::{device_runs, shared_data};
use whyoom_allocators::{Request, Step, Workload};

/// Which recording: a language model in training.
pub(super) const RECORDING: &str = "torch-snapshots/lm-medium_512_training.pickle";

/// An allocation or a free; items are places in a table.
#[derive(Clone, Copy)]
pub(super) enum Happening {
    Alloc { item: u32, request: Request },
    Free { item: u32 },
}

pub(super) struct Turn {
    pub(super) items: usize,
    /// What is live when it begins.
    pub(super) start: Vec<Happening>,
    /// What happens; thereafter the same is live.
    pub(super) events: Vec<Happening>,
}

impl Turn {
    /// A recording's.
    pub(super) fn find() -> Result<Self> {
        let runs = device_runs(&shared_data()?.join(RECORDING))?;
        let run = runs.into_iter().max_by_key(|run| run.workload.steps.len());
        Ok(Self::from_workload(&run.context("nothing is recorded")?.workload))
    }

    fn from_workload(workload: &Workload) -> Self {
        let (restored, history) = workload.steps.split_at(workload.restored);
        let start: Vec<_> = restored.iter().filter_map(happening).collect();
        let history = history.iter().filter_map(happening).collect();
        Self::closed(workload.items as usize, start, history)
    }

    /// Adds what leads from the end back to the start: what was made since is freed, and what is
    /// missing of the start is made again.
    fn closed(items: usize, start: Vec<Happening>, mut events: Vec<Happening>) -> Self {
        let mut first = vec![None; items];
        note(&start, &mut first);
        let mut last = first.clone();
        note(&events, &mut last);
        for (item, (first, last)) in first.iter().zip(&last).enumerate() {
            if first.is_none() && last.is_some() {
                events.push(Happening::Free { item: item as u32 });
            }
        }
        for (item, (first, last)) in first.iter().zip(&last).enumerate() {
            if let (Some(request), None) = (first, last) {
                events.push(Happening::Alloc { item: item as u32, request: *request });
            }
        }
        Self { items, start, events }
    }
}

/// What the program did; what its allocator did by itself is left out, and so are the rare releases
/// of its cache.
fn happening(step: &Step) -> Option<Happening> {
    match *step {
        Step::Alloc { item, request, .. } => Some(Happening::Alloc { item: item.0, request }),
        Step::Free { item } => Some(Happening::Free { item: item.0 }),
        _ => None,
    }
}

fn note(happenings: &[Happening], live: &mut [Option<Request>]) {
    for happening in happenings {
        match *happening {
            Happening::Alloc { item, request } => live[item as usize] = Some(request),
            Happening::Free { item } => live[item as usize] = None,
        }
    }
}
