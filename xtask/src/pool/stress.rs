//! Random operations on the pool itself, in debug mode: over threads, streams and captures, each block
//! checked against all others.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{
    recorder::{
        stage::Stage,
        trial::{Trial, text},
    },
    tools::{must_succeed, root},
};

const THREADS: u64 = 4;
const IN_THE_GATE: u64 = 20_000_000;
const BILLION: u64 = 1_000_000_000;
/// So many at a time: each run has another seed, and none takes long enough to look hung.
const AT_A_TIME: u64 = 20_000_000;

pub(super) fn run(stage: &Stage) -> Result<String> {
    operations(stage, IN_THE_GATE)
}

pub(super) fn billion(stage: &Stage) -> Result<String> {
    operations(stage, BILLION)
}

fn operations(stage: &Stage, count: u64) -> Result<String> {
    let mut build = Command::new(env!("CARGO"));
    build.args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "whyoom-pool",
        "--example",
        "stress",
    ]);
    must_succeed(build.current_dir(root()))?;
    let program = text(&stage.binaries.join("examples/stress"));
    let runs = count.div_ceil(AT_A_TIME);
    for seed in 1..=runs {
        let [operations, threads, seed] = [AT_A_TIME, THREADS, seed].map(|n| n.to_string());
        let command = [program.clone(), operations, threads, seed];
        let ran = Trial::new("8GiB", &command).with("WHYOOM_POOL_DEBUG", "1").plain(stage)?;
        ensure!(ran.status == 0, "ended with {}:\n{}{}", ran.status, ran.stdout, ran.stderr);
        println!("{}", ran.stdout.lines().last().context("it said nothing")?);
    }
    Ok(format!(
        "{} operations on {THREADS} threads in debug mode: no overlap, no lost byte, no deadlock",
        runs * AT_A_TIME
    ))
}
