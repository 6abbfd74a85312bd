//! `whyoom replay`.

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Result, bail, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget};
use whyoom_allocators::{
    Policy, SimulatedDevice,
    catalogue::{CATALOGUE, Conditions, SETTINGS, find},
    exactness::{compare_pool, compare_reserved, follow},
    policies::pytorch::{PyTorch, PyTorchSettings},
    replay::replay,
    workload::{Run, Workloads},
};
use whyoom_report::{ModelCheck, ReplayAnswer, ReplayRow, write_replay, write_replay_json};
use whyoom_trace::{DeviceId, Tables};

use crate::{
    arguments::ReplayArguments,
    source::{self, Frames},
};

/// More than any device has: a run is replayed on it where the capacity is not known.
const UNLIMITED: u64 = 1 << 46;

pub(crate) fn run(arguments: &ReplayArguments) -> Result<()> {
    let mut tables = Tables::default();
    let runs = read(&arguments.file, &mut tables)?;
    let candidates = candidates(arguments)?;
    let progress = ProgressBar::new((runs.len() * candidates.len()) as u64);
    progress.set_draw_target(ProgressDrawTarget::stderr());
    let answers: Vec<ReplayAnswer<'_>> =
        runs.iter().map(|run| answer(run, arguments, &candidates, &tables, &progress)).collect();
    progress.finish_and_clear();
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if arguments.json {
        write_replay_json(&answers, &mut out)?;
    } else {
        for (index, answer) in answers.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            write_replay(answer, &mut out)?;
        }
    }
    Ok(out.flush()?)
}

fn read(path: &Path, tables: &mut Tables) -> Result<Vec<Run>> {
    let name = path.display().to_string();
    let mut workloads = Workloads::default();
    source::read(path, Frames::Nameless, tables, &mut workloads)?;
    let on_device = |run: &Run| run.device != DeviceId::HOST && run.workload.allocations() > 0;
    let runs: Vec<Run> = workloads.into_runs().into_iter().filter(on_device).collect();
    ensure!(
        !runs.is_empty(),
        "{name} holds no history of PyTorch's allocations: record it with whyoom run -- PROGRAM, or \
         with torch.cuda.memory._record_memory_history(max_entries=1_000_000)"
    );
    Ok(runs)
}

/// Makes an allocator for a run that was recorded with some settings.
type Make = Box<dyn Fn(&PyTorchSettings) -> Box<dyn Policy>>;

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
            bail!("no allocator is called '{id}'; there are {}", known.join(", "));
        }
    }
    for entry in CATALOGUE {
        if arguments.allocator.is_empty() || arguments.allocator.iter().any(|id| id == entry.id) {
            candidates.push(Candidate {
                name: entry.id.to_owned(),
                about: entry.about,
                switch: (!entry.switch.is_empty()).then(|| entry.switch.to_owned()),
                make: Box::new(|recorded| entry.make(&Conditions { recorded: recorded.clone() })),
            });
        }
    }
    let sweep = SETTINGS.iter().filter(|_| arguments.sweep).copied();
    for setting in arguments.set.iter().map(String::as_str).chain(sweep) {
        PyTorchSettings::default().apply(setting)?;
        candidates.push(with_setting(setting.to_owned()));
    }
    Ok(candidates)
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

fn answer<'a>(
    run: &'a Run,
    arguments: &ReplayArguments,
    candidates: &'a [Candidate],
    tables: &'a Tables,
    progress: &ProgressBar,
) -> ReplayAnswer<'a> {
    let known = run.workload.known_capacity();
    let (capacity, capacity_from) = match (arguments.capacity, known) {
        (Some(bytes), _) => (Some(bytes), "as asked for"),
        (None, Some(bytes)) => (Some(bytes), "from the failure in the recording"),
        (None, None) => (None, "unknown"),
    };
    let room = capacity.unwrap_or(UNLIMITED);
    let mut recorded = PyTorchSettings::from_recorded(&run.settings);
    recorded.device_total = room.min(UNLIMITED / 64);
    let model = model_check(run, &recorded, known.unwrap_or(UNLIMITED));
    let mut peak_live = 0;
    let mut rows: Vec<ReplayRow<'a>> = candidates
        .iter()
        .map(|candidate| {
            let mut device = SimulatedDevice::new(room);
            let outcome = replay(&run.workload, (candidate.make)(&recorded).as_mut(), &mut device);
            peak_live = peak_live.max(outcome.peak_live);
            progress.inc(1);
            ReplayRow {
                allocator: &candidate.name,
                about: candidate.about,
                switch: candidate.switch.as_deref(),
                fits: capacity.map(|_| outcome.fits()),
                peak_reserved_bytes: outcome.peak_reserved,
                utilization: outcome.utilization(),
                driver_calls: outcome.driver_calls,
                driver_nanoseconds: outcome.driver_nanoseconds,
            }
        })
        .collect();
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
    }
}

/// How far the model of the recorded allocator does what that did.
fn model_check(run: &Run, settings: &PyTorchSettings, room: u64) -> ModelCheck {
    let pooled = run.was_pooled();
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
