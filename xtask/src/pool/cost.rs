//! What an allocation and its free cost through PyTorch's own interface: its native allocator, the
//! wrapper around any allocator that is plugged in, and the pool; and the pool without that wrapper.

use std::{path::PathBuf, process::Command};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{POOL, instructions, source};
use crate::{
    recorder::{
        stage::{Stage, cuda, python},
        trial::{Trial, text},
    },
    tools::{environment, must_succeed, number, scratch, site_packages},
};

/// Rounds of which the median is taken; a machine that is shared needs many.
const ROUNDS: &str = "41";
const FEW: &str = "7";
/// A pair costs at most so much of PyTorch's own.
const BAR: f64 = 0.4;
/// Eight threads on eight streams do at least so many times as much.
const THROUGHPUT: f64 = 3.0;
/// What a gate on a shared machine can ask.
const LOOSE: f64 = 0.8;

const ALLOCATORS: [&str; 4] = ["native", "wrapper", "pool", "alone"];
const PATTERNS: [(&str, &str); 2] =
    [("one_at_a_time", "each freed before the next"), ("among_others", "among 48 others")];

pub(super) fn run(stage: &Stage) -> Result<String> {
    let (program, figures) = measured(stage, ROUNDS)?;
    let counts = counts(stage, &program)?;
    show(&figures, Some(&counts));
    from_python(stage)?;
    let (one, eight) = (worst(&figures, "pool", "one_ns"), worst(&figures, "pool", "eight_ns"));
    let instructions = counts[0].map_or(String::new(), |counts| {
        format!(", {:.0} instructions against {:.0}", counts[2], counts[0])
    });
    let said = format!(
        "a pair costs {one:.2} of PyTorch's own (at most {BAR}){instructions}; 8 threads on 8 streams \
         do {:.1} times as much (at least {THROUGHPUT:.0}), {:.1} times without PyTorch's wrapper",
        1.0 / eight,
        1.0 / worst(&figures, "alone", "eight_ns")
    );
    ensure!(one <= BAR && 1.0 / eight >= THROUGHPUT, "{said}");
    Ok(said)
}

/// The same with fewer rounds, no instructions, and a bar that holds on a busy machine.
pub(super) fn loose(stage: &Stage) -> Result<String> {
    let (_, figures) = measured(stage, FEW)?;
    show(&figures, None);
    let one = worst(&figures, "pool", "one_ns");
    let said =
        format!("a pair costs {one:.2} of PyTorch's own (at most {LOOSE} on a busy machine)");
    ensure!(one <= LOOSE, "{said}");
    Ok(said)
}

fn library(stage: &Stage) -> PathBuf {
    stage.binaries.join("libwhyoom_pool.so")
}

/// Builds the program that measures, and runs it.
fn measured(stage: &Stage, rounds: &str) -> Result<(PathBuf, Value)> {
    let torch = site_packages(&environment("torch")?)?.join("torch");
    let program = scratch("pool-cost")?.join("cost");
    let mut build = Command::new("sh");
    must_succeed(build.arg(source("build.sh")).arg(&program).arg(torch).arg(cuda()?))?;
    let command = [text(&program), text(&library(stage)), rounds.to_owned()];
    let figures = Trial::new("24GiB", &command).plain(stage)?.figures()?;
    Ok((program, figures))
}

/// Instructions of a pair: by pattern and allocator.
type Counts = [Option<[f64; 4]>; 2];

fn counts(stage: &Stage, program: &std::path::Path) -> Result<Counts> {
    let mut all = [None; 2];
    for ((pattern, _), counts) in PATTERNS.iter().zip(&mut all) {
        let mut found = [0.0; 4];
        for (allocator, found) in ALLOCATORS.iter().zip(&mut found) {
            let count = instructions::of_pair(stage, program, &library(stage), allocator, pattern)?;
            let Some(count) = count else { return Ok(all) };
            *found = count;
        }
        *counts = Some(found);
    }
    Ok(all)
}

/// An allocator's cost as a share of the native one's, in the pattern where it is worst.
fn worst(figures: &Value, of: &str, what: &str) -> f64 {
    let share = |pattern: &Value| number(&pattern[of][what]) / number(&pattern["native"][what]);
    PATTERNS.iter().map(|(name, _)| share(&figures[*name])).fold(0.0, f64::max)
}

fn show(figures: &Value, counts: Option<&Counts>) {
    println!(
        "{:<28} {:<8} {:>10} {:>6} {:>10} {:>6} {:>13}",
        "a pair", "", "1 thread", "", "8 threads", "", "instructions"
    );
    for (index, (pattern, words)) in PATTERNS.iter().enumerate() {
        for (which, allocator) in ALLOCATORS.iter().enumerate() {
            let of = |name: &str, what: &str| number(&figures[*pattern][name][what]);
            let (one, eight) = (of(allocator, "one_ns"), of(allocator, "eight_ns"));
            let count = counts.and_then(|counts| counts[index]);
            let count = count.map_or("-".to_owned(), |counts| format!("{:.0}", counts[which]));
            println!(
                "{words:<28} {allocator:<8} {one:>7.0} ns {:>5.2}x {eight:>7.0} ns {:>5.2}x {count:>13}",
                one / of("native", "one_ns"),
                eight / of("native", "eight_ns"),
            );
        }
    }
}

/// The same seen from Python, where an interpreter is between.
fn from_python(stage: &Stage) -> Result<()> {
    let script = text(&source("pairs.py"));
    let trial = Trial::new("24GiB", &[python()?, script]);
    let mut plugged = trial.clone();
    plugged.command.push(text(&library(stage)));
    let recorded = trial.recorded_with(stage, "pool-pairs", &[POOL])?.ran.figures()?;
    let rows = [
        ("native", trial.plain(stage)?.figures()?),
        ("pool", plugged.plain(stage)?.figures()?),
        ("pool, recorded", recorded),
    ];
    println!("{:<28} {:>16} {:>14}", "a pair from Python", "memory", "a tensor");
    for (name, figures) in rows {
        let (memory, tensor) = (number(&figures["memory_ns"]), number(&figures["tensor_ns"]));
        println!("{name:<28} {memory:>13.0} ns {tensor:>11.0} ns");
    }
    Ok(())
}
