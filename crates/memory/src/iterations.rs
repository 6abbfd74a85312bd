//! Where the iterations of a run begin, found while it passes by.
//!
//! Five finders look at once, and those that found enough are asked in the order in which they are to be
//! trusted: the program's own marks, PyTorch's annotations of optimizer steps, the change from backward
//! or optimizer to forward, the outermost module being entered again at the line it was first entered at,
//! and any module being entered after work outside of all.
//!
//! A loop over layers is not a loop over iterations: it too makes the same allocations again and
//! again and keeps them. None of the finders sees it, because it runs inside one call of the outermost
//! module.

use serde::{Deserialize, Serialize};
use whyoom_trace::{Bytes, StackId};

use crate::{instant::Instant, profile::StackProfile, signs::Phase};

/// How the iterations were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
            Self::OptimizerSteps => "optimizer steps",
            Self::TrainingPhases => "forward after backward",
            Self::ModuleCalls => "calls of the outermost module",
            Self::RepeatedLine => "repetitions of one line",
        }
    }
}

/// The start of an iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Boundary {
    /// When it was.
    pub(crate) at: Instant,
    /// Bytes in use.
    pub(crate) allocated: Bytes,
    /// The same with all that others use, where only some count.
    pub(crate) in_all: Bytes,
}

const MAX_BOUNDARIES: usize = 512;
/// Stacks that made a module's output; a program has few.
const MAX_OUTPUTS: usize = 64;

/// Boundaries in a bounded number: of very many, every second, fourth, eighth … is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Boundaries {
    kept: Vec<Boundary>,
    most: usize,
    seen: u64,
    stride: u64,
    latest: Boundary,
}

impl Default for Boundaries {
    fn default() -> Self {
        Self::of_at_most(MAX_BOUNDARIES)
    }
}

impl Boundaries {
    pub(crate) fn of_at_most(most: usize) -> Self {
        let latest = Boundary::default();
        Self { kept: Vec::new(), most, seen: 0, stride: 1, latest }
    }

    pub(crate) fn note(&mut self, boundary: Boundary) {
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(boundary);
        }
        self.seen += 1;
        self.latest = boundary;
        if self.kept.len() >= self.most {
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

    /// The bytes at those that are kept.
    pub(crate) fn levels(&self) -> Vec<u64> {
        self.kept.iter().map(|boundary| boundary.allocated.0).collect()
    }

    /// How many there were.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The event of the last, kept or not.
    pub(crate) fn latest(&self) -> u64 {
        self.latest.at.event
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
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
    last_forward: Option<StackId>,
    /// Stacks whose block was the last before a module was left: its output, for all that can be told.
    outputs: Vec<StackId>,
    backward: bool,
    /// The same entries since backward last allocated, and the most that came before any backward.
    unused_calls: Boundaries,
    most_used_calls: u64,
}

impl Iterations {
    pub(crate) fn mark(&mut self, boundary: Boundary) {
        self.marks.note(boundary);
    }

    pub(crate) fn optimizer_step(&mut self, boundary: Boundary) {
        self.optimizer_steps.note(boundary);
    }

    /// Takes an allocation that is about to happen.
    pub(crate) fn allocation(&mut self, profile: StackProfile, stack: StackId, boundary: Boundary) {
        self.note_output(profile.phase, stack);
        let was_update = matches!(self.last_phase, Some(Phase::Backward | Phase::Optimizer));
        if profile.phase == Phase::Forward && was_update {
            self.phases.note(boundary);
        }
        // What happens between the phases (a loss, a batch) belongs to neither side.
        if profile.phase != Phase::Other {
            self.last_phase = Some(profile.phase);
        }
        // What backward computes again is no call of the program's.
        if profile.root.is_some() && profile.phase != Phase::Backward {
            let first = *self.first_root.get_or_insert_with(|| profile.root.unwrap_or_default());
            if profile.root == Some(first) && self.last_root != Some(first) {
                self.module_calls.note(boundary);
            }
            self.last_root = profile.root;
            if std::mem::take(&mut self.worked_outside) {
                self.module_entries.note(boundary);
                self.unused_calls.note(boundary);
            }
        } else if profile.is_outside {
            self.worked_outside = true;
        }
    }

    fn note_output(&mut self, phase: Phase, stack: StackId) {
        if phase == Phase::Backward {
            self.backward = true;
            self.most_used_calls = self.most_used_calls.max(self.unused_calls.seen);
            self.unused_calls = Boundaries::default();
        }
        if phase == Phase::Forward {
            self.last_forward = Some(stack);
        } else if let Some(output) = self.last_forward.take()
            && self.outputs.len() < MAX_OUTPUTS
            && !self.outputs.contains(&output)
        {
            self.outputs.push(output);
        }
    }

    /// Whether a module's call ended with a block of this stack.
    pub(crate) fn is_output(&self, stack: StackId) -> bool {
        self.outputs.contains(&stack) || self.last_forward == Some(stack)
    }

    /// The module's calls since the last backward, where they are clearly more than backward ever followed:
    /// an evaluation, for all that can be told. Nothing where there was no backward, or the calls are too many to
    /// be kept one by one.
    pub(crate) fn calls_without_backward(&self) -> Option<&Boundaries> {
        let calls = &self.unused_calls;
        let is_evaluation = self.backward && calls.seen > 2 * self.most_used_calls;
        (is_evaluation && calls.stride == 1).then_some(calls)
    }

    /// Whether backward ever allocated anything.
    pub(crate) fn has_backward(&self) -> bool {
        self.backward
    }

    fn finders(&self) -> [&Boundaries; 5] {
        let Self { marks, optimizer_steps, phases, module_calls, module_entries, .. } = self;
        [marks, optimizer_steps, phases, module_calls, module_entries]
    }

    /// The newest boundary of those that are to be trusted most: who found it, and how many there were by then. One
    /// alone is no iteration.
    pub(crate) fn newest(&self) -> Option<(usize, u64)> {
        let found = self.finders().map(Boundaries::seen);
        found.into_iter().enumerate().find(|(_, seen)| *seen > 1)
    }

    /// The same boundaries.
    pub(crate) fn trusted(&self) -> Option<&Boundaries> {
        self.newest().map(|(finder, _)| self.finders()[finder])
    }

    /// The boundaries of which there are at least that many, the most trustworthy first. Entries count only
    /// where the whole run was recorded: in a part of one they may be anything.
    pub(crate) fn by_trust(
        &self,
        at_least: usize,
        whole: bool,
    ) -> impl Iterator<Item = (IterationSource, &Boundaries)> {
        let by_trust = [
            (IterationSource::Marks, &self.marks),
            (IterationSource::OptimizerSteps, &self.optimizer_steps),
            (IterationSource::TrainingPhases, &self.phases),
            (IterationSource::ModuleCalls, &self.module_calls),
        ];
        let entries = whole.then_some((IterationSource::ModuleCalls, &self.module_entries));
        let enough = move |found: &(_, &Boundaries)| found.1.kept.len() >= at_least;
        by_trust.into_iter().chain(entries).filter(enough)
    }
}
