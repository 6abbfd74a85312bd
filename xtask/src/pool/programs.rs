//! The fifteen programs with the pool under what they ask the driver for: the same output and the same
//! end as without. Those of PyTorch's once more with the pool as PyTorch's own allocator.

use anyhow::{Context, Result};

use super::POOL;
use crate::{
    lab::programs::build,
    recorder::{
        programs::{PROGRAMS, trial},
        stage::Stage,
        tally::Tally,
        trial::Trial,
    },
};

/// Takes the start-up file away, so that PyTorch keeps its allocator: the pool is below it.
const BELOW: [&str; 3] = ["env", "-u", "PYTHONPATH"];

/// What programs say of PyTorch's own allocator cannot be the same without it.
const OF_THE_ALLOCATOR: &[(&str, &str)] = &[
    ("program04", "it counts the allocator's segments: one a step, or pages of 2 MiB"),
    ("program13", "it expects the size of a segment in the message: 764.00 MiB, or 762.94 MiB"),
    ("program14", "it looks for the largest batch that fits, and a larger one does"),
    (
        "program15",
        "it expects the other process in PyTorch's message; the pool's says how to find it",
    ),
];

pub(super) fn run(stage: &Stage) -> Result<String> {
    let folder = build()?;
    let mut tally = Tally::default();
    for (name, _) in PROGRAMS {
        let (trial, torch) = trial(&folder, name)?;
        if torch {
            let mut below = trial.clone();
            below.command.splice(0..0, BELOW.map(str::to_owned));
            tally.case(name, || alike(stage, &trial, &below, name));
            let name = format!("{name}, plugged in");
            match OF_THE_ALLOCATOR.iter().find(|(known, _)| name.starts_with(known)) {
                Some((_, why)) => println!("{name:<24} not compared: {why}"),
                None => tally.case(&name, || alike(stage, &trial, &trial, &name)),
            }
        } else {
            tally.case(name, || alike(stage, &trial, &trial, name));
        }
    }
    let plugged = tally.all()? - PROGRAMS.len();
    Ok(format!(
        "{} programs with the same output and exit status as without, {plugged} of them with the pool \
         as PyTorch's allocator too",
        PROGRAMS.len()
    ))
}

/// The program ends with the pool as without.
fn alike(stage: &Stage, plain: &Trial, pooled: &Trial, name: &str) -> Result<String> {
    let plain = plain.plain(stage).context("without the pool")?;
    let pooled = pooled.recorded_with(stage, &format!("pool-{name}"), &[POOL])?;
    pooled.ran.like(&plain)?;
    Ok(format!("ends with {}, as without", plain.status))
}
