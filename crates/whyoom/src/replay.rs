//! `whyoom replay`.

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Result, bail, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget};
use whyoom_allocators::{
    Run,
    catalogue::{CATALOGUE, SETTINGS, find},
    policies::pytorch::PyTorchSettings,
};
use whyoom_causes::{InputOrigin, Verdict};
use whyoom_reading::{Asked, Candidate, Inquiry, answer, can_be_replayed};
use whyoom_report::{ReplayAnswer, write_replay, write_replay_json};
use whyoom_sources::{InputKind, recording::is_recording};

use crate::{
    arguments::ReplayArguments,
    machine::MachineFile,
    misuse::Misuse,
    recording_origin,
    source::{self, Frames},
    terminal::width,
};

pub(crate) fn run(arguments: &ReplayArguments) -> Result<()> {
    let (inquiry, verdict) = read(&arguments.file)?;
    let context = inquiry.replay_context(&verdict);
    let runs: Vec<&Run> = inquiry.runs().iter().filter(|run| can_be_replayed(run)).collect();
    let candidates = candidates(arguments)?;
    let asked = asked(arguments);
    let progress = ProgressBar::new((runs.len() * candidates.len()) as u64);
    progress.set_draw_target(ProgressDrawTarget::stderr());
    let done = || progress.inc(1);
    let answers: Vec<ReplayAnswer<'_>> = runs
        .iter()
        .map(|run| answer(run, &asked, &candidates, &inquiry.tables, context, &done))
        .collect();
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

/// Reads an input and judges it: whether memory grows decides what a replay that fits means.
fn read(path: &Path) -> Result<(Inquiry, Verdict)> {
    let name = path.display().to_string();
    let mut inquiry = Inquiry::for_replay();
    let kind = inquiry.take(|tables, sink| {
        anyhow::Ok(source::read(path, Frames::Nameless, tables, sink)?.input)
    })?;
    inquiry.add_origin(match is_recording(path) {
        true => recording_origin::of_recording(path),
        false => InputOrigin::default(),
    });
    let verdict = inquiry.judge_unproved();
    let has_runs = inquiry.runs().iter().any(can_be_replayed);
    ensure!(
        has_runs || kind != InputKind::NsightSystems,
        "{name} contains driver allocations, not those of an allocator: there is nothing to replay. \
         Record them with whyoom run -- PROGRAM"
    );
    ensure!(
        has_runs,
        "{name} contains no history of PyTorch's allocations: record it with whyoom run -- PROGRAM, \
         or with torch.cuda.memory._record_memory_history(max_entries=1_000_000)"
    );
    Ok((inquiry, verdict))
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
