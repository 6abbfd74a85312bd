//! What is known about recorded runs beside their requests: how far a replay that fits can be trusted, and which
//! command started the program.

use whyoom_allocators::{Run, Step};
use whyoom_causes::{InputOrigin, ShellLine, Verdict};
use whyoom_report::FitReach;
use whyoom_trace::{DeviceId, ProcessId};

/// Causes that another allocator can remove. `healthy` is one of them because such a run was recorded to its end.
const REMOVABLE_BY_ALLOCATOR: [&str; 9] = [
    "fragmented-cache",
    "cache-held",
    "private-pool",
    "rounding",
    "pending-free",
    "mempool-held",
    "late-setting",
    "allocator-defect",
    "healthy",
];
/// Causes of memory that grows until no allocator has room for it.
const LEAKS: [&str; 2] = ["growth", "leak-at-exit"];

/// The verdict on runs, and the origin of their recording.
#[derive(Debug, Clone, Copy)]
pub struct ReplayContext<'a> {
    verdict: &'a Verdict,
    origin: &'a InputOrigin,
}

impl<'a> ReplayContext<'a> {
    pub(crate) fn new(verdict: &'a Verdict, origin: &'a InputOrigin) -> Self {
        Self { verdict, origin }
    }

    /// Returns how far a fit in a replay of this run reaches. The run's own cause decides; if it was not judged, the
    /// verdict's.
    pub(crate) fn reach(&self, run: &Run) -> FitReach {
        let cause = self.cause_of(run.process, run.device);
        if LEAKS.contains(&cause) {
            return FitReach::UntilLeakFills;
        }
        if !REMOVABLE_BY_ALLOCATOR.contains(&cause) {
            return FitReach::UntilFailure { cause };
        }
        if went_on_after_failure(&run.workload.steps) {
            return FitReach::UntilCaughtFailure;
        }
        match self.also_leaks(run.process, run.device) {
            true => FitReach::WholeButGrows,
            false => FitReach::Whole,
        }
    }

    /// Returns the line that starts the program of the runs, behind words of whyoom's own. `None` if the command is
    /// not known or not this user's own, or no line can hold it.
    pub(crate) fn own_program_after(&self, words: &'static str) -> Option<String> {
        let commands = self.origin.own_commands.as_ref()?;
        let (Some(command), 1) = (commands.first(), commands.len()) else { return None };
        let is_known = !command.is_empty();
        is_known.then(|| ShellLine::new(words).inputs(command.split('\0')).text())?
    }

    fn cause_of(&self, process: ProcessId, device: DeviceId) -> &'static str {
        let judged = &self.verdict.by_process;
        let own = judged.iter().find(|(of, on, _)| (*of, *on) == (process, device));
        own.map_or(self.verdict.primary.cause, |(_, _, cause)| cause)
    }

    fn also_leaks(&self, process: ProcessId, device: DeviceId) -> bool {
        self.verdict.contributing.iter().any(|finding| {
            (finding.process, finding.device) == (process, device) && LEAKS.contains(&finding.cause)
        })
    }
}

/// Returns true if the program allocated more after a request had failed: it caught the failure and did something else
/// than it would have done with that memory.
fn went_on_after_failure(steps: &[Step]) -> bool {
    let failed = steps.iter().position(|step| matches!(step, Step::OutOfMemory { .. }));
    failed.is_some_and(|at| steps[at..].iter().any(|step| matches!(step, Step::Alloc { .. })))
}

#[cfg(test)]
mod tests {
    use whyoom_allocators::{Item, Request, Workload};
    use whyoom_causes::judge;
    use whyoom_memory::Model;
    use whyoom_trace::{Address, Bytes, PoolId, StackId, StreamId, Tables};

    use super::*;

    const REQUEST: Request = Request { size: 512, stream: StreamId(0), pool: PoolId(0) };
    const FAILURE: Step =
        Step::OutOfMemory { request: REQUEST, device_free: None, stack: StackId(0) };

    fn alloc(item: u32) -> Step {
        Step::Alloc {
            item: Item(item),
            request: REQUEST,
            address: Address(0),
            size: Bytes(512),
            stack: StackId(0),
        }
    }

    fn verdict_of(cause: &'static str) -> Verdict {
        let mut verdict = judge(&Model::default(), &Tables::default());
        verdict.primary.cause = cause;
        verdict.by_process.clear();
        verdict
    }

    fn reach(cause: &'static str, steps: Vec<Step>) -> FitReach {
        let verdict = verdict_of(cause);
        let run = Run { workload: Workload::new(steps, 2), ..Run::default() };
        ReplayContext::new(&verdict, InputOrigin::ELSEWHERE).reach(&run)
    }

    #[test]
    fn a_leak_goes_on_whatever_fits() {
        for cause in LEAKS {
            assert_eq!(reach(cause, vec![alloc(0)]), FitReach::UntilLeakFills);
        }
        let grows = FitReach::UntilLeakFills;
        assert!(grows.caveat(true).unwrap().contains("the leak goes on"));
        assert!(!grows.caveat(false).unwrap().contains("Fits"), "no row says so");
    }

    #[test]
    fn a_run_that_caught_a_failure_fits_up_to_here() {
        let cause = "fragmented-cache";
        assert_eq!(reach(cause, vec![alloc(0), FAILURE]), FitReach::Whole);
        let went_on = vec![alloc(0), FAILURE, alloc(1)];
        assert_eq!(reach(cause, went_on), FitReach::UntilCaughtFailure);
        let cause = "working-set";
        assert_eq!(reach(cause, vec![alloc(0), FAILURE]), FitReach::UntilFailure { cause });
    }

    #[test]
    fn a_contributing_leak_of_the_same_process_counts() {
        let mut verdict = verdict_of("fragmented-cache");
        let leak = whyoom_causes::Finding { cause: "growth", ..verdict.primary.clone() };
        verdict.contributing.push(leak);
        let (process, device) = (verdict.primary.process, verdict.primary.device);
        let context = ReplayContext::new(&verdict, InputOrigin::ELSEWHERE);
        let run = Run { process, device, ..Run::default() };
        assert_eq!(context.reach(&run), FitReach::WholeButGrows);
        assert!(!context.reach(&run).ends_with_recording());
        let other = Run { process: ProcessId(process.0 + 1), device, ..Run::default() };
        assert_eq!(context.reach(&other), FitReach::Whole);
    }

    #[test]
    fn the_recorded_command_is_pasted_only_if_it_is_own() {
        let verdict = verdict_of("healthy");
        let line = |origin: &InputOrigin| {
            ReplayContext::new(&verdict, origin).own_program_after("whyoom run --pool --")
        };
        let own = InputOrigin::own(&["python", "leak.py", "--name", "a b"]);
        assert_eq!(line(&own).unwrap(), "whyoom run --pool -- python leak.py --name 'a b'");
        assert_eq!(line(InputOrigin::ELSEWHERE), None);
        assert_eq!(line(&own.and(InputOrigin::own(&["python", "b.py"]))), None, "which of both?");
    }
}
