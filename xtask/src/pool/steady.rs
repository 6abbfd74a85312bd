//! What a training loop makes the pool ask of the driver: in the transition, and in the steady state.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{POOL, source};
use crate::{
    recorder::{
        stage::{Stage, fresh, python},
        trial::{Trial, text},
    },
    tools::number,
};

const NAME: &str = "pool-steady";

/// Microseconds that a call takes on a real device with pages of 2 MiB: medians on an A100
/// (ovg-project/kvcached, bench_vmm); a release: as an unmap, by whoever models replays.
const COSTS: &[(&str, f64)] = &[
    ("creates", 193.0),
    ("releases", 25.0),
    ("maps", 1.45),
    ("access", 36.0),
    ("unmaps", 25.6),
    ("reserves", 19.0),
];

pub(super) fn run(stage: &Stage) -> Result<String> {
    // The lab's log lies where every recorded trial has it.
    let log = fresh(NAME)?.with_extension("log");
    let trial = Trial::new("8GiB", &[python()?, text(&source("steady.py")), text(&log)]);
    let figures = trial.recorded_with(stage, NAME, &[POOL])?.ran.figures()?;
    let count = |name: &str| number(&figures[name]) as u64;
    let modelled = transition(&figures["transition"]);
    let (steps, allocations) = (count("steps"), count("allocations"));
    let (own, logged) = (count("steady_calls"), count("steady_calls_logged"));
    println!("steady state: {own} driver calls by the pool's count, {logged} by the lab's log");
    ensure!(allocations > 1000, "only {allocations} allocations: the pool did not serve them");
    ensure!(own == 0 && logged == 0, "{own} and {logged} driver calls in {steps} steady steps");
    Ok(format!(
        "no driver call in {steps} steady steps ({allocations} allocations); {} calls in {} steps \
         before ({} allocations), which would take {modelled:.1} ms on a real device",
        count("transition_calls"),
        count("transition_steps"),
        count("transition_allocations"),
    ))
}

/// Prints the calls of the transition; the milliseconds that they would take.
fn transition(counts: &Value) -> f64 {
    println!("{:<12} {:>7} {:>12}", "transition", "calls", "modelled");
    let mut sum = 0.0;
    for (name, microseconds) in COSTS {
        let calls = number(&counts[*name]);
        let taken = calls * microseconds / 1000.0;
        println!("{name:<12} {calls:>7} {taken:>9.2} ms");
        sum += taken;
    }
    for name in ["events", "waits"] {
        println!("{name:<12} {:>7} {:>12}", number(&counts[name]), "-");
    }
    sum
}
