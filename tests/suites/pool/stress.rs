//! Random operations on the pool itself, in debug mode: over threads, streams and captures, each block
//! checked against all others.

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Trial, text};

const THREADS: u64 = 4;
const IN_THE_GATE: u64 = 5_000_000;
/// So many at a time: each run has another seed, and none takes long enough to look hung.
const DEEP: u64 = 20_000_000;
const RUNS_OF_A_BILLION: u64 = 50;

pub(super) fn run() -> Result<Held> {
    operations(IN_THE_GATE, 1)
}

pub(super) fn deep() -> Result<Held> {
    operations(DEEP, 1)
}

pub(super) fn billion() -> Result<Held> {
    operations(DEEP, RUNS_OF_A_BILLION)
}

fn operations(count: u64, runs: u64) -> Result<Held> {
    let program = text(&Build::ready()?.file("examples/stress"));
    for seed in 1..=runs {
        let [operations, threads, seed] = [count, THREADS, seed].map(|n| n.to_string());
        let command = [program.clone(), operations, threads, seed];
        let ran = Trial::new("8GiB", &command).with("WHYOOM_POOL_DEBUG", "1").plain()?;
        let said = ran.succeeded()?.stdout.lines().last().context("it said nothing")?;
        println!("{said}");
        let did = format!("stress: {count} operations by {THREADS} threads");
        ensure!(said.starts_with(&did), "it did something else: {said}");
        ensure!(said.ends_with(" 0 damaged, 0 B lost"), "{said}");
    }
    let operations = count * runs;
    let said = format!(
        "{operations} operations on {THREADS} threads in debug mode: no overlap, no lost byte, no deadlock"
    );
    Ok(Held::new(said).count("operations", operations))
}
