//! What recording costs a driver call, a PyTorch loop and the heap.

mod driver;
mod heap;
mod instructions;
mod loops;
mod torch;

use std::fs;

use anyhow::{Result, ensure};
use harness::{Check, Ran, Trial, empty_folder, median};
use serde::de::DeserializeOwned;

/// Each is run so often, in turn with the others, so that all meet the same machine.
const ROUNDS: usize = 5;

pub(super) fn checks() -> Vec<Check> {
    vec![
        Check::new("cost-driver", driver::measure),
        Check::new("cost-torch", torch::measure),
        Check::new("cost-heap", heap::measure),
        Check::new("instructions", instructions::driver),
        Check::new("cost-instructions", instructions::loops),
    ]
}

/// How a program is recorded.
#[derive(Clone, Copy)]
enum Recording {
    Off,
    /// With this for stacks.
    On(&'static str),
}

/// The figures that a program prints, recorded or not.
fn figures<T: DeserializeOwned>(name: &str, trial: &Trial, recording: Recording) -> Result<T> {
    run(name, trial, recording)?.figures()
}

/// A program, recorded or not.
fn run(name: &str, trial: &Trial, recording: Recording) -> Result<Ran> {
    let Recording::On(stacks) = recording else { return trial.plain() };
    let folder = empty_folder(&format!("recorder/{name}"))?;
    let trial = trial.clone().with("WHYOOM_RECORDING_STACKS", stacks);
    let ran = trial.preloaded(&folder)?;
    let recorded = fs::read_dir(&folder)?.count();
    ensure!(recorded > 0, "nothing was recorded:\n{}", ran.stderr);
    ensure!(!ran.stderr.contains("whyoom: "), "recording stopped:\n{}", ran.stderr);
    Ok(ran)
}

/// The medians of several trials, each run so often in turn, of what `taken` takes out of their figures.
fn medians<T: DeserializeOwned, const N: usize, const F: usize>(
    name: &str,
    trials: &[(Trial, Recording); N],
    taken: impl Fn(&T) -> [f64; F],
) -> Result<[[f64; N]; F]> {
    let mut seen = [const { [const { Vec::new() }; N] }; F];
    for _ in 0..ROUNDS {
        for (index, (trial, recording)) in trials.iter().enumerate() {
            let figures = taken(&figures(name, trial, *recording)?);
            for (figure, seen) in figures.into_iter().zip(&mut seen) {
                ensure!(figure > 0.0, "{name} measured {figure}");
                seen[index].push(figure);
            }
        }
    }
    let mut medians = [[0.0; N]; F];
    for (medians, seen) in medians.iter_mut().zip(&seen) {
        for (own, values) in medians.iter_mut().zip(seen) {
            *own = median(values)?;
        }
    }
    Ok(medians)
}
