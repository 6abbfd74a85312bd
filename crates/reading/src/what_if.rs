//! What other allocators would have done with runs that were read for something else.

use whyoom_allocators::{Run, catalogue::CATALOGUE};
use whyoom_report::ReplayAnswer;
use whyoom_trace::Tables;

use crate::{
    replay_context::ReplayContext,
    replays::{Asked, Candidate, answer, can_be_replayed},
};

/// A report of a run with so many allocations replays it with few allocators only.
const LONG: usize = 1_000_000;
const FOR_LONG_RUNS: [&str; 3] = ["as-recorded", "expandable", "stitch"];

/// What other allocators would have done with runs that were read for something else.
pub struct WhatIf {
    candidates: Vec<Candidate>,
    /// What was left out, for people.
    pub note: Option<String>,
}

impl WhatIf {
    /// Every allocator; of long runs those that matter most, so that nobody waits for it. Nothing of runs
    /// that were too long to keep.
    #[must_use]
    pub fn of(runs: Option<&[Run]>) -> Self {
        let Some(runs) = runs else {
            let note = "the run is very long: use whyoom replay for other allocators";
            return Self { candidates: Vec::new(), note: Some(note.to_owned()) };
        };
        let runs = runs.iter().filter(|run| can_be_replayed(run));
        let allocations: usize = runs.map(|run| run.workload.allocations()).sum();
        let all = CATALOGUE.iter();
        match allocations {
            0 => Self {
                candidates: Vec::new(),
                note: Some("there is no history of PyTorch's allocations to replay".to_owned()),
            },
            LONG.. => Self {
                candidates: all
                    .filter(|it| FOR_LONG_RUNS.contains(&it.id))
                    .map(Candidate::known)
                    .collect(),
                note: Some(format!(
                    "the run is long ({allocations} allocations): use whyoom replay for other \
                     allocators than these"
                )),
            },
            _ => Self { candidates: all.map(Candidate::known).collect(), note: None },
        }
    }

    /// One answer for each run.
    #[must_use]
    pub fn answers<'a>(
        &'a self,
        runs: &'a [Run],
        tables: &'a Tables,
        context: ReplayContext<'_>,
    ) -> Vec<ReplayAnswer<'a>> {
        let runs = runs.iter().filter(|run| can_be_replayed(run) && !self.candidates.is_empty());
        let asked = Asked::default();
        runs.map(|run| answer(run, &asked, &self.candidates, tables, context, &|| {})).collect()
    }
}
