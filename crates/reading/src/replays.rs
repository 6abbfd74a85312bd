//! A run under other allocators.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use whyoom_allocators::{
    CallCosts, Outcome, Policy, Run, SimulatedDevice, Workload,
    catalogue::{Conditions, Entry},
    exactness::{compare_pool, compare_reserved, follow},
    policies::pytorch::{AllocatorConf, PyTorch, PyTorchSettings, doubtful_keys, needs_release},
    replay,
};
use whyoom_causes::for_shell;
use whyoom_report::{FitReach, ModelCheck, OWN_POOL, ReplayAnswer, ReplayRow};
use whyoom_trace::{DeviceId, Tables};

use crate::replay_context::ReplayContext;

/// More than any device has: a run is replayed on it where the capacity is not known.
const UNLIMITED: u64 = 1 << 46;

/// Whether a run has allocations of a device to replay.
#[must_use]
pub fn can_be_replayed(run: &Run) -> bool {
    run.device != DeviceId::HOST && run.workload.allocations() > 0
}

/// Makes an allocator for a run that was recorded with some settings.
type Make = Box<dyn Fn(&PyTorchSettings) -> Box<dyn Policy> + Sync>;

/// An allocator to try.
pub struct Candidate {
    pub(crate) name: String,
    about: &'static str,
    switch: Option<String>,
    /// The options that a line sets. Empty if the candidate is no setting.
    options: AllocatorConf,
    make: Make,
}

impl Candidate {
    /// One of the catalogue.
    #[must_use]
    pub fn known(entry: &'static Entry) -> Self {
        Self {
            name: entry.id.to_owned(),
            about: entry.about,
            switch: (!entry.switch.is_empty()).then(|| entry.switch.to_owned()),
            options: AllocatorConf::default(),
            make: Box::new(|recorded| entry.make(&Conditions { recorded: recorded.clone() })),
        }
    }

    /// PyTorch's with a setting.
    #[must_use]
    pub fn with_setting(setting: String) -> Self {
        Self {
            name: setting.clone(),
            about: "PyTorch with this setting",
            switch: Some(format!(
                "export {}",
                for_shell(&format!("PYTORCH_CUDA_ALLOC_CONF={}", setting.replace('=', ":")))
            )),
            // It was read once before.
            options: AllocatorConf::parse(&setting.replace('=', ":")).unwrap_or_default(),
            make: Box::new(move |recorded| {
                let mut settings = recorded.defaults_for_run();
                // It was read once before: what it says is known.
                let _ = settings.apply(&setting);
                Box::new(PyTorch::new(settings))
            }),
        }
    }
}

/// What a person says of the machine.
#[derive(Default)]
pub struct Asked {
    /// What the device has.
    pub capacity: Option<u64>,
    /// What calls of the driver take.
    pub costs: CallCosts,
    /// What is worth saying of that.
    pub note: Option<String>,
}

/// Replays a run with each candidate. `progress` is called after each.
pub fn answer<'a>(
    run: &'a Run,
    asked: &Asked,
    candidates: &'a [Candidate],
    tables: &'a Tables,
    context: ReplayContext<'_>,
    progress: &(dyn Fn() + Sync),
) -> ReplayAnswer<'a> {
    let known = run.workload.known_capacity();
    let (capacity, capacity_from) = match (asked.capacity, known) {
        (Some(bytes), _) => (Some(bytes), "as requested"),
        (None, Some(bytes)) => (Some(bytes), "from the failure in the recording"),
        (None, None) => (None, "unknown"),
    };
    let room = capacity.unwrap_or(UNLIMITED).min(UNLIMITED);
    let mut recorded = PyTorchSettings::from_recorded(&run.settings);
    recorded.device_total = room.min(UNLIMITED / 64);
    let recorded = &recorded;
    let device = || SimulatedDevice::new(room).with_costs(asked.costs);
    let known = known.unwrap_or(UNLIMITED).min(UNLIMITED);
    let (model, outcomes) = at_once(
        || model_check(run, recorded, known),
        || replay_all(&run.workload, candidates, recorded, device, progress),
    );
    let peak_live = outcomes.iter().map(|outcome| outcome.peak_live).max().unwrap_or_default();
    let reach = context.reach(run);
    let ended = candidates.iter().zip(&outcomes).filter(|(_, outcome)| !outcome.given_up);
    let rows = ended.map(|(candidate, outcome)| {
        let (switch, example) = match reach {
            FitReach::UntilLeakFills => (None, None),
            _ => switch_of(candidate, run, context),
        };
        ReplayRow {
            allocator: &candidate.name,
            about: candidate.about,
            switch,
            example,
            fits: capacity.map(|_| outcome.fits()),
            peak_reserved_bytes: outcome.peak_reserved,
            utilization: outcome.utilization(),
            driver_calls: outcome.driver_calls,
            driver_nanoseconds: outcome.driver_nanoseconds,
        }
    });
    // What another allocator served has no settings of PyTorch's that it was recorded with.
    let by_pytorch = run.logged_by.as_deref().is_none() && !run.was_pooled();
    let rows = rows.filter(|row| by_pytorch || row.allocator != "as-recorded");
    let mut rows: Vec<ReplayRow<'a>> = rows.collect();
    rows.sort_by_key(|row| (row.fits == Some(false), row.peak_reserved_bytes));
    let caveat = reach.caveat(rows.iter().any(|row| row.fits == Some(true)));
    ReplayAnswer {
        process: tables.process_name(run.process),
        device: run.device.to_string(),
        allocations: run.workload.allocations() as u64,
        peak_live_bytes: peak_live,
        recorded_peak_reserved_bytes: run.workload.peak_recorded(),
        capacity_bytes: capacity,
        capacity_from,
        model,
        rows,
        fits_up_to_here: reach.ends_with_recording(),
        caveat,
        reach,
        notes: left_out(run, candidates, &outcomes).into_iter().chain(asked.note.clone()).collect(),
    }
}

/// What the answer says nothing of, or only roughly: a file may hold what no program does.
fn left_out(run: &Run, candidates: &[Candidate], outcomes: &[Outcome]) -> Vec<String> {
    let given_up = candidates.iter().zip(outcomes).filter(|(_, outcome)| outcome.given_up);
    let names: Vec<&str> = given_up.map(|(candidate, _)| candidate.name.as_str()).collect();
    let mut notes = Vec::new();
    if !names.is_empty() {
        notes.push(format!(
            "skipped, because the replay takes disproportionately long for this run: {}",
            names.join(", ")
        ));
    }
    // A recording does not tell its version of PyTorch.
    let mut doubtful: Vec<&str> =
        candidates.iter().flat_map(|candidate| doubtful_keys(None, &candidate.options)).collect();
    doubtful.sort_unstable();
    doubtful.dedup();
    for key in doubtful {
        notes.push(needs_release(key));
    }
    let folded = run.workload.folded;
    if folded > 0 {
        notes.push(format!(
            "the run has more streams and pools than can be distinguished: {folded} allocations are \
             attributed to the default stream"
        ));
    }
    notes
}

/// Both, the first in a thread of its own where there are threads: a browser's worker has one.
fn at_once<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if thread::available_parallelism().is_err() {
        return (first(), second());
    }
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
    })
}

/// Replays a run with every candidate, as many at a time as there are processors.
fn replay_all(
    workload: &Workload,
    candidates: &[Candidate],
    recorded: &PyTorchSettings,
    device: impl Fn() -> SimulatedDevice + Sync,
    progress: &(dyn Fn() + Sync),
) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Relaxed);
            let Some(candidate) = candidates.get(index) else { return done };
            let mut device = device();
            let outcome = replay(workload, (candidate.make)(recorded).as_mut(), &mut device);
            progress();
            done.push((index, outcome));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(candidates.len());
    let mut outcomes: Vec<(usize, Outcome)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut outcomes = work();
        for other in others {
            outcomes.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcomes
    });
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// How a program that RMM serves switches to other allocators: PyTorch's settings do nothing for it.
const SWITCHES_OF_RMM: [(&str, &str); 2] = [
    ("rmm", "rmm.reinitialize(pool_allocator=True)"),
    ("cuda-async", "rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())"),
];
/// The command of whyoom's own pool, up to the program.
const WITH_POOL: &str = "whyoom run --pool --";

/// Returns the line that switches a candidate on in the program of a run: to paste, or else to adapt.
fn switch_of(
    candidate: &Candidate,
    run: &Run,
    context: ReplayContext<'_>,
) -> (Option<String>, Option<String>) {
    if candidate.name == OWN_POOL {
        let own = context.own_program_after(WITH_POOL);
        let example = own.is_none().then(|| format!("{WITH_POOL} COMMAND"));
        return (own, example);
    }
    if run.logged_by.as_deref().is_none() {
        let is_taken = doubtful_keys(None, &candidate.options).is_empty();
        return (candidate.switch.clone().filter(|_| is_taken), None);
    }
    let own = SWITCHES_OF_RMM.iter().find(|(name, _)| *name == candidate.name);
    (own.map(|(_, switch)| (*switch).to_owned()), None)
}

/// How far the model of the recorded allocator does what that did.
fn model_check(run: &Run, settings: &PyTorchSettings, room: u64) -> ModelCheck {
    let pooled = run.was_pooled();
    if run.logged_by.as_deref().is_some() {
        return ModelCheck { model: "RMM", pooled, whole: true, steps: 0, equal: 0 };
    }
    let model = if pooled { "whyoom's pool" } else { "PyTorch's allocator" };
    if run.workload.starts_empty() {
        let (steps, differences) = match pooled {
            true => compare_pool(&run.workload, settings.device_total, room),
            false => compare_reserved(&run.workload, settings, room),
        };
        return ModelCheck { model, pooled, whole: true, steps, equal: steps - differences.len() };
    }
    let agreement = follow(&run.workload, settings);
    let equal = agreement.allocations - agreement.misses.len();
    ModelCheck { model, pooled, whole: false, steps: agreement.allocations, equal }
}
