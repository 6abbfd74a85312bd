//! The same in instructions, counted by callgrind: a busy machine does not change them.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use harness::{CProgram, Held, Need, Trial, empty_folder, files, text, worst};

use super::{
    Recording,
    loops::{LOOPS, Loop, Steps, judged},
    run,
};
use crate::recorder::programs_in_c::program;

/// Small: callgrind has too few addresses for a larger device.
const DEVICE: &str = "2GiB";

/// What is counted is the difference between a run of so many batches and one of so many more.
const FEW: u32 = 10;
const MORE: u32 = 20;
/// Pairs of a batch, of stream-ordered and of plain memory.
const CALLS: u32 = 2 * 2 * 200;

/// What was measured when they were set, and a little: they keep a call from becoming slower unseen. `cost-driver`
/// has the goal, in nanoseconds.
const MOST: f64 = 720.0;
const MOST_WITH_STACKS: f64 = 960.0;

/// callgrind is some fifty times slower than the machine.
const OF_STEPS: u32 = 10;

/// Instructions that recording adds to a driver call.
pub(super) fn driver() -> Result<Held> {
    let alone = of_call(Recording::Off)?;
    let without = of_call(Recording::On("off"))? - alone;
    let with = of_call(Recording::On("all"))? - alone;
    let said = format!(
        "{without:.0} instructions added to a driver call without stacks (at most {MOST:.0}), {with:.0} with (at most {MOST_WITH_STACKS:.0})"
    );
    ensure!(without > 0.0 && with > without, "{said}: nothing was recorded");
    ensure!(without <= MOST && with <= MOST_WITH_STACKS, "{said}");
    Ok(Held::new(said))
}

fn of_call(recording: Recording) -> Result<f64> {
    let count = |batches: u32| {
        let command = [program("cost")?, batches.to_string()];
        counted(&Trial::new(DEVICE, &command), recording, "yes")
    };
    Ok((count(FEW + MORE)? - count(FEW)?) / f64::from(MORE * CALLS))
}

/// Instructions that recording adds to a step of each loop.
pub(super) fn loops() -> Result<Held> {
    println!(
        "{:<34} {:>12} {:>16} {:>16}",
        "instructions of a step", "alone", "recorded", "its history"
    );
    let mut measured = Vec::new();
    for one in &LOOPS {
        let alone = of_step(one, Recording::Off, false)?;
        let recorded = of_step(one, Recording::On("all"), false)?;
        let history = of_step(one, Recording::Off, true)?;
        let steps = Steps { alone, recorded, history };
        println!(
            "{:<34} {alone:>12.0} {:>+14.1} % {:>+14.1} %",
            one.name,
            steps.share(recorded),
            steps.share(history)
        );
        measured.push((one, steps));
    }
    Ok(Held::new(judged(&measured, "instructions")?))
}

fn of_step(one: &Loop, recording: Recording, with_history: bool) -> Result<f64> {
    let mut trial = one.trial(DEVICE, OF_STEPS)?;
    trial.command.extend(with_history.then(|| "history".to_owned()));
    trial.command.push(counter()?);
    Ok(counted(&trial, recording, "no")? / f64::from(one.steps(OF_STEPS)))
}

/// The library that says what is to be counted.
fn counter() -> Result<String> {
    let mut library = CProgram::new("tests/scenarios/recorder/count.c")?;
    library.name = "recorder-count.so".to_owned();
    library.flags = vec!["-shared".to_owned(), "-fPIC".to_owned()];
    Ok(text(&library.built()?))
}

/// The instructions of a program, from its start or from where it says.
fn counted(trial: &Trial, recording: Recording, from_start: &str) -> Result<f64> {
    Need::Valgrind.met()?;
    // Not where the recording is.
    let folder = empty_folder("recorder/callgrind")?;
    let out = folder.join("callgrind.%p");
    let mut trial = trial.clone();
    let valgrind = [
        "valgrind".to_owned(),
        "--tool=callgrind".to_owned(),
        format!("--instr-atstart={from_start}"),
        format!("--callgrind-out-file={}", text(&out)),
    ];
    trial.command.splice(0..0, valgrind);
    // valgrind runs one thread at a time: OpenMP's would wait for each other by turning in circles.
    let trial = trial.with("OMP_NUM_THREADS", "1");
    run("instructions", &trial, recording)?.succeeded()?;
    // A process that was forked has a count of its own, of nothing: it is the program's that is asked for.
    let counts = files(&folder)?.iter().map(|file| total(file)).collect::<Result<Vec<_>>>()?;
    let total = worst(&counts)?;
    ensure!(total > 1e6, "callgrind counted {total} instructions");
    Ok(total)
}

fn total(file: &Path) -> Result<f64> {
    let counts = fs::read_to_string(file)?;
    let total = counts.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.context("callgrind gave no count")?.trim().parse()?)
}
