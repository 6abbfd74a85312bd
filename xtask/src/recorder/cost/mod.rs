//! `cargo xtask recorder-cost`: what recording costs a driver call, a PyTorch loop and the heap.

mod driver;
mod heap;
mod torch;

use std::fs;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{
    stage::{Stage, fresh},
    trial::Trial,
};
use crate::tools::number;

/// Each is run so often, in turn with the others, so that all meet the same machine.
const ROUNDS: usize = 5;

pub(super) fn run(stage: &Stage) -> Result<()> {
    let figures = [driver::measure(stage)?, torch::measure(stage)?, heap::measure(stage)?];
    let said: Vec<_> = figures.iter().map(|figure| figure.said.as_str()).collect();
    let said = format!("{}; on a simulated GPU", said.join("; "));
    ensure!(figures.iter().all(|figure| figure.holds), "{said}");
    println!("recorder-cost: {said}");
    Ok(())
}

/// What was measured, and whether its bar holds: the others are measured all the same.
struct Figure {
    said: String,
    holds: bool,
}

/// How a program is recorded.
#[derive(Clone, Copy)]
enum Recording {
    Off,
    /// With this for stacks.
    On(&'static str),
}

/// The figures that a program prints, recorded or not.
fn figures(stage: &Stage, trial: &Trial, recording: Recording) -> Result<Value> {
    let Recording::On(stacks) = recording else { return trial.plain(stage)?.figures() };
    let folder = fresh("cost")?;
    fs::create_dir_all(&folder)?;
    let trial = trial.clone().with("WHYOOM_RECORDING_STACKS", stacks);
    let ran = trial.preloaded(stage, &folder)?;
    let recorded = fs::read_dir(&folder)?.count();
    ensure!(recorded > 0, "nothing was recorded:\n{}", ran.stderr);
    ensure!(!ran.stderr.contains("whyoom"), "recording stopped:\n{}", ran.stderr);
    ran.figures()
}

/// The medians of one figure of several trials, each run so often in turn.
fn medians<const N: usize>(
    stage: &Stage,
    trials: &[(Trial, Recording); N],
    figure: &[&str],
) -> Result<Vec<[f64; N]>> {
    let mut seen = vec![vec![Vec::new(); N]; figure.len()];
    for _ in 0..ROUNDS {
        for (index, (trial, recording)) in trials.iter().enumerate() {
            let figures = figures(stage, trial, *recording)?;
            for (name, seen) in figure.iter().zip(&mut seen) {
                seen[index].push(number(&figures[*name]));
            }
        }
    }
    Ok(seen.into_iter().map(|mut trials| std::array::from_fn(|n| median(&mut trials[n]))).collect())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
