//! `whyoom replay`.

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Result, bail, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget};
use whyoom_allocators::{
    Run, Workloads,
    catalogue::{CATALOGUE, SETTINGS, find},
    policies::pytorch::PyTorchSettings,
};
use whyoom_reading::{Asked, Candidate, answer, can_be_replayed};
use whyoom_report::{ReplayAnswer, write_replay, write_replay_json};
use whyoom_sources::InputKind;
use whyoom_trace::Tables;

use crate::{
    arguments::ReplayArguments,
    machine::MachineFile,
    misuse::Misuse,
    source::{self, Frames},
    terminal::width,
};

pub(crate) fn run(arguments: &ReplayArguments) -> Result<()> {
    let mut tables = Tables::default();
    let runs = read(&arguments.file, &mut tables)?;
    let candidates = candidates(arguments)?;
    let asked = asked(arguments);
    let progress = ProgressBar::new((runs.len() * candidates.len()) as u64);
    progress.set_draw_target(ProgressDrawTarget::stderr());
    let done = || progress.inc(1);
    let answers: Vec<ReplayAnswer<'_>> =
        runs.iter().map(|run| answer(run, &asked, &candidates, &tables, &done)).collect();
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
            candidates.push(Candidate::known(entry));
        }
    }
    let sweep = SETTINGS.iter().filter(|_| arguments.sweep).copied();
    for setting in arguments.set.iter().map(String::as_str).chain(sweep) {
        PyTorchSettings::default().apply(setting).map_err(|error| Misuse(error.to_string()))?;
        candidates.push(Candidate::with_setting(setting.to_owned()));
    }
    Ok(candidates)
}

/// What a person says of the machine.
fn asked(arguments: &ReplayArguments) -> Asked {
    let machine = arguments.machine.as_ref();
    Asked {
        capacity: arguments.capacity,
        costs: machine.map(MachineFile::call_costs).unwrap_or_default(),
        note: machine.map(MachineFile::told_of_calls),
    }
}
