//! Where the iterations of a run begin, found while it passes by.
//!
//! Four finders look at once and the most trustworthy that found enough is believed: the program's
//! own marks, PyTorch's annotations of optimizer steps, the change from backward or optimizer to
//! forward, and the outermost module being entered again at the line it was first entered at.
//!
//! A loop over layers is not a loop over iterations: it too makes the same allocations again and
//! again and keeps them. None of the four sees it, because it runs inside one call of the outermost
//! module.

use whyoom_trace::Bytes;

use crate::{
    category::Category,
    profile::{Phase, StackProfile},
};

/// How the iterations were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterationSource {
    /// The program marked them.
    Marks,
    /// PyTorch annotated the optimizer's steps.
    OptimizerSteps,
    /// Forward came again after backward or the optimizer.
    TrainingPhases,
    /// The outermost module was called again.
    ModuleCalls,
    /// One line of the program, outside any module, allocated again and again.
    RepeatedLine,
}

impl IterationSource {
    /// How a person would say it.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Marks => "the program's own marks",
            Self::OptimizerSteps => "the optimizer's steps",
            Self::TrainingPhases => "forward after backward",
            Self::ModuleCalls => "calls of the outermost module",
            Self::RepeatedLine => "repetitions of one line",
        }
    }
}

/// The start of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// The number of the event.
    pub(crate) event: u64,
    /// Bytes in use.
    pub(crate) allocated: Bytes,
}

const MAX_BOUNDARIES: usize = 512;

/// Boundaries in a bounded number: of very many, every second, fourth, eighth … is kept.
#[derive(Debug, Clone)]
pub(crate) struct Boundaries {
    kept: Vec<Boundary>,
    seen: u64,
    stride: u64,
}

impl Default for Boundaries {
    fn default() -> Self {
        Self { kept: Vec::new(), seen: 0, stride: 1 }
    }
}

impl Boundaries {
    fn note(&mut self, boundary: Boundary) {
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(boundary);
        }
        self.seen += 1;
        if self.kept.len() >= MAX_BOUNDARIES {
            let mut keep = false;
            self.kept.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride *= 2;
        }
    }

    /// How many iterations lie between two that are kept.
    pub(crate) fn stride(&self) -> u64 {
        self.stride
    }

    pub(crate) fn kept(&self) -> &[Boundary] {
        &self.kept
    }
}

#[derive(Debug, Default)]
pub(crate) struct Iterations {
    marks: Boundaries,
    optimizer_steps: Boundaries,
    phases: Boundaries,
    module_calls: Boundaries,
    last_phase: Option<Phase>,
    first_root: Option<(u64, u32)>,
    last_root: Option<(u64, u32)>,
    /// Entries of a module after work outside any: the calls of one that has a single line.
    module_entries: Boundaries,
    worked_outside: bool,
}

impl Iterations {
    pub(crate) fn mark(&mut self, boundary: Boundary) {
        self.marks.note(boundary);
    }

    pub(crate) fn optimizer_step(&mut self, boundary: Boundary) {
        self.optimizer_steps.note(boundary);
    }

    /// Takes an allocation that is about to happen.
    pub(crate) fn allocation(&mut self, profile: StackProfile, boundary: Boundary) {
        let was_update = matches!(self.last_phase, Some(Phase::Backward | Phase::Optimizer));
        if profile.phase == Phase::Forward && was_update {
            self.phases.note(boundary);
        }
        // What happens between the phases (a loss, a batch) belongs to neither side.
        if profile.phase != Phase::Other {
            self.last_phase = Some(profile.phase);
        }
        if profile.root.is_some() {
            let first = *self.first_root.get_or_insert_with(|| profile.root.unwrap_or_default());
            if profile.root == Some(first) && self.last_root != Some(first) {
                self.module_calls.note(boundary);
            }
            self.last_root = profile.root;
            if std::mem::take(&mut self.worked_outside) {
                self.module_entries.note(boundary);
            }
        } else if profile.category == Category::Inputs {
            self.worked_outside = true;
        }
    }

    /// The most trustworthy boundaries of which there are at least that many. Entries count only where the
    /// whole run was recorded: in a part of one they may be anything.
    pub(crate) fn best(
        &self,
        at_least: usize,
        whole: bool,
    ) -> Option<(IterationSource, &Boundaries)> {
        let by_trust = [
            (IterationSource::Marks, &self.marks),
            (IterationSource::OptimizerSteps, &self.optimizer_steps),
            (IterationSource::TrainingPhases, &self.phases),
            (IterationSource::ModuleCalls, &self.module_calls),
        ];
        let entries = whole.then_some((IterationSource::ModuleCalls, &self.module_entries));
        let enough = |found: &(_, &Boundaries)| found.1.kept.len() >= at_least;
        by_trust.into_iter().chain(entries).find(enough)
    }
}
