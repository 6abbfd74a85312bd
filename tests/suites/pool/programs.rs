//! The fifteen programs with the pool under what they ask the driver for: the same output and the same
//! end as without. Those of PyTorch's once more with the pool as PyTorch's own allocator.

use anyhow::{Context, Result};
use harness::{Check, FIFTEEN, Fifteen, Held, Trial, fifteen, scenarios};

use super::POOL;

/// Takes the start-up file away, so that PyTorch keeps its allocator: the pool is below it.
const BELOW: [&str; 3] = ["env", "-u", "PYTHONPATH"];

/// What these say of PyTorch's own allocator cannot be the same without it.
const OF_THE_ALLOCATOR: [&str; 4] = [
    "program04", // it counts the allocator's segments: one a step, or pages of 2 MiB
    "program13", // it expects the size of a segment in the message: 764.00 MiB, or 762.94 MiB
    "program14", // it looks for the largest batch that fits, and a larger one does
    "program15", // it expects the other process in PyTorch's message; the pool's says how to find it
];

pub(super) fn checks() -> Result<Vec<Check>> {
    let scripts: Vec<String> = scenarios()?.into_iter().map(|scenario| scenario.script).collect();
    let is_torch = |name: &str| scripts.contains(&format!("{name}.py"));
    let mut checks = Vec::new();
    for &(name, _) in FIFTEEN {
        checks.push(Check::new(format!("programs::{name}"), move || below(name)));
        if is_torch(name) && !OF_THE_ALLOCATOR.contains(&name) {
            checks.push(Check::new(format!("programs-plugged::{name}"), move || plugged(name)));
        }
    }
    Ok(checks)
}

fn below(name: &str) -> Result<Held> {
    let Fifteen { trial, is_torch } = fifteen(name)?;
    let mut below = trial.clone();
    if is_torch {
        below.command.splice(0..0, BELOW.map(str::to_owned));
    }
    alike(&trial, &below, name)
}

fn plugged(name: &str) -> Result<Held> {
    let trial = fifteen(name)?.trial;
    alike(&trial, &trial, &format!("{name}-plugged"))
}

/// The program ends with the pool as without.
fn alike(plain: &Trial, pooled: &Trial, name: &str) -> Result<Held> {
    let plain = plain.plain_shared().context("without the pool")?;
    pooled.recorded_with(&format!("pool-{name}"), &[POOL])?.ran.like(&plain)?;
    let said = format!("ends with {}, as without", plain.status);
    Ok(Held::new(said).count("programs", 1))
}
