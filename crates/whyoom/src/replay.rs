//! `whyoom replay`.

use std::{
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use anyhow::{Result, bail, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget};
use whyoom_allocators::{
    CallCosts, Outcome, Policy, Run, SimulatedDevice, Workload, Workloads,
    catalogue::{CATALOGUE, Conditions, Entry, SETTINGS, find},
    exactness::{compare_pool, compare_reserved, follow},
    policies::pytorch::{PyTorch, PyTorchSettings},
    replay,
};
use whyoom_report::{ModelCheck, ReplayAnswer, ReplayRow, write_replay, write_replay_json};
use whyoom_sources::InputKind;
use whyoom_trace::{DeviceId, Tables};

use crate::{
    arguments::ReplayArguments,
    machine::MachineFile,
    misuse::Misuse,
    source::{self, Frames},
    terminal::width,
};

/// More than any device has: a run is replayed on it where the capacity is not known.
const UNLIMITED: u64 = 1 << 46;
/// A report of a run with so many allocations replays it with few allocators only.
const LONG: usize = 1_000_000;
const FOR_LONG_RUNS: [&str; 3] = ["as-recorded", "expandable", "stitch"];

pub(crate) fn run(arguments: &ReplayArguments) -> Result<()> {
    let mut tables = Tables::default();
    let runs = read(&arguments.file, &mut tables)?;
    let candidates = candidates(arguments)?;
    let asked = Asked::of(arguments);
    let progress = ProgressBar::new((runs.len() * candidates.len()) as u64);
    progress.set_draw_target(ProgressDrawTarget::stderr());
    let answers: Vec<ReplayAnswer<'_>> =
        runs.iter().map(|run| answer(run, &asked, &candidates, &tables, &progress)).collect();
    progress.finish_and_clear();
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if arguments.json {
        write_replay_json(&answers, &mut out)?;
    } else {
        for (index, answer) in answers.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            write_replay(answer, width(), &mut out)?;
        }
    }
    Ok(out.flush()?)
}

fn read(path: &Path, tables: &mut Tables) -> Result<Vec<Run>> {
    let name = path.display().to_string();
    let mut workloads = Workloads::default();
    let input = source::read(path, Frames::Nameless, tables, &mut workloads)?.input;
    let runs: Vec<Run> = workloads.into_runs().into_iter().filter(can_be_replayed).collect();
    ensure!(
        !runs.is_empty() || input.kind != InputKind::NsightSystems,
        "{name} contains driver allocations, not those of an allocator: there is nothing to replay. \
         Record them with whyoom run -- PROGRAM"
    );
    ensure!(
        !runs.is_empty(),
        "{name} contains no history of PyTorch's allocations: record it with whyoom run -- PROGRAM, \
         or with torch.cuda.memory._record_memory_history(max_entries=1_000_000)"
    );
    Ok(runs)
}

/// Whether a run has allocations of a device to replay.
fn can_be_replayed(run: &Run) -> bool {
    run.device != DeviceId::HOST && run.workload.allocations() > 0
}

/// What other allocators would have done with runs that were read for something else.
pub(crate) struct WhatIf {
    candidates: Vec<Candidate>,
    /// What was left out, for people.
    pub(crate) note: Option<String>,
}

impl WhatIf {
    /// Every allocator; of long runs those that matter most, so that nobody waits for it. Nothing of runs
    /// that were too long to keep.
    pub(crate) fn of(runs: Option<&[Run]>) -> Self {
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
                candidates: all.filter(|it| FOR_LONG_RUNS.contains(&it.id)).map(known).collect(),
                note: Some(format!(
                    "the run is long ({allocations} allocations): use whyoom replay for other \
                     allocators than these"
                )),
            },
            _ => Self { candidates: all.map(known).collect(), note: None },
        }
    }

    pub(crate) fn answers<'a>(
        &'a self,
        runs: &'a [Run],
        tables: &'a Tables,
    ) -> Vec<ReplayAnswer<'a>> {
        let runs = runs.iter().filter(|run| can_be_replayed(run) && !self.candidates.is_empty());
        let progress = ProgressBar::hidden();
        runs.map(|run| answer(run, &Asked::default(), &self.candidates, tables, &progress))
            .collect()
    }
}

/// Makes an allocator for a run that was recorded with some settings.
type Make = Box<dyn Fn(&PyTorchSettings) -> Box<dyn Policy> + Sync>;

/// An allocator to try.
struct Candidate {
    name: String,
    about: &'static str,
    switch: Option<String>,
    make: Make,
}

fn candidates(arguments: &ReplayArguments) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for id in &arguments.allocator {
        if find(id).is_none() {
            let known: Vec<_> = CATALOGUE.iter().map(|entry| entry.id).collect();
            bail!(Misuse(format!("unknown allocator '{id}'; use one of {}", known.join(", "))));
        }
    }
    for entry in CATALOGUE {
        if arguments.allocator.is_empty() || arguments.allocator.iter().any(|id| id == entry.id) {
            candidates.push(known(entry));
        }
    }
    let sweep = SETTINGS.iter().filter(|_| arguments.sweep).copied();
    for setting in arguments.set.iter().map(String::as_str).chain(sweep) {
        PyTorchSettings::default().apply(setting).map_err(|error| Misuse(error.to_string()))?;
        candidates.push(with_setting(setting.to_owned()));
    }
    Ok(candidates)
}

fn known(entry: &'static Entry) -> Candidate {
    Candidate {
        name: entry.id.to_owned(),
        about: entry.about,
        switch: (!entry.switch.is_empty()).then(|| entry.switch.to_owned()),
        make: Box::new(|recorded| entry.make(&Conditions { recorded: recorded.clone() })),
    }
}

fn with_setting(setting: String) -> Candidate {
    Candidate {
        name: setting.clone(),
        about: "PyTorch with this setting",
        switch: Some(format!("export PYTORCH_CUDA_ALLOC_CONF={setting}")),
        make: Box::new(move |recorded| {
            let mut settings = recorded.defaults_for_run();
            // It was read once before: what it says is known.
            let _ = settings.apply(&setting);
            Box::new(PyTorch::new(settings))
        }),
    }
}

/// What a person says of the machine.
#[derive(Default)]
struct Asked {
    capacity: Option<u64>,
    costs: CallCosts,
    note: Option<String>,
}

impl Asked {
    fn of(arguments: &ReplayArguments) -> Self {
        let machine = arguments.machine.as_ref();
        Self {
            capacity: arguments.capacity,
            costs: machine.map(MachineFile::call_costs).unwrap_or_default(),
            note: machine.map(MachineFile::told_of_calls),
        }
    }
}

fn answer<'a>(
    run: &'a Run,
    asked: &Asked,
    candidates: &'a [Candidate],
    tables: &'a Tables,
    progress: &ProgressBar,
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
    let (model, outcomes) = thread::scope(|scope| {
        let known = known.unwrap_or(UNLIMITED).min(UNLIMITED);
        let model = scope.spawn(move || model_check(run, recorded, known));
        let outcomes = {
            let device = || SimulatedDevice::new(room).with_costs(asked.costs);
            replay_all(&run.workload, candidates, recorded, device, progress)
        };
        (model.join(), outcomes)
    });
    let model = model.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let peak_live = outcomes.iter().map(|outcome| outcome.peak_live).max().unwrap_or_default();
    let ended = candidates.iter().zip(&outcomes).filter(|(_, outcome)| !outcome.given_up);
    let rows = ended.map(|(candidate, outcome)| ReplayRow {
        allocator: &candidate.name,
        about: candidate.about,
        switch: switch_of(candidate, run),
        fits: capacity.map(|_| outcome.fits()),
        peak_reserved_bytes: outcome.peak_reserved,
        utilization: outcome.utilization(),
        driver_calls: outcome.driver_calls,
        driver_nanoseconds: outcome.driver_nanoseconds,
    });
    // What another allocator served has no settings of PyTorch's that it was recorded with.
    let by_pytorch = run.logged_by.as_deref().is_none() && !run.was_pooled();
    let rows = rows.filter(|row| by_pytorch || row.allocator != "as-recorded");
    let mut rows: Vec<ReplayRow<'a>> = rows.collect();
    rows.sort_by_key(|row| (row.fits == Some(false), row.peak_reserved_bytes));
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
    let folded = run.workload.folded;
    if folded > 0 {
        notes.push(format!(
            "the run has more streams and pools than can be distinguished: {folded} allocations are \
             attributed to the default stream"
        ));
    }
    notes
}

/// Replays a run with every candidate, as many at a time as there are processors.
fn replay_all(
    workload: &Workload,
    candidates: &[Candidate],
    recorded: &PyTorchSettings,
    device: impl Fn() -> SimulatedDevice + Sync,
    progress: &ProgressBar,
) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Relaxed);
            let Some(candidate) = candidates.get(index) else { return done };
            let mut device = device();
            let outcome = replay(workload, (candidate.make)(recorded).as_mut(), &mut device);
            progress.inc(1);
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
const SWITCHES_OF_RMM: [(&str, &str); 3] = [
    ("rmm", "rmm.reinitialize(pool_allocator=True)"),
    ("cuda-async", "rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())"),
    ("stitch", "whyoom run --pool -- python train.py"),
];

/// The line that switches a candidate on in the program of a run.
fn switch_of<'a>(candidate: &'a Candidate, run: &Run) -> Option<&'a str> {
    if run.logged_by.as_deref().is_none() {
        return candidate.switch.as_deref();
    }
    let own = SWITCHES_OF_RMM.iter().find(|(name, _)| *name == candidate.name);
    own.map(|(_, switch)| *switch)
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
