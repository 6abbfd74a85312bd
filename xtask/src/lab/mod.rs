//! `cargo xtask lab [PART…]`: the simulated GPU under real programs.
//!
//! A part is a file here and a line in the table. Each prints what it saw and returns its figure.

mod bench;
mod clients;
mod cost;
mod crash;
mod log;
mod models;
mod programs;
mod torch;

use std::time::Instant;

use anyhow::{Context, Result, ensure};

pub(crate) use self::bench::Bench;

/// Processes are killed for this long.
const CRASH_SECONDS: u64 = 300;

type Part = (&'static str, fn(&Bench) -> Result<String>);

const PARTS: &[Part] = &[
    ("torch", torch::run),
    ("programs", programs::run),
    ("clients", clients::run),
    ("models", models::run),
    ("log", log::run),
    ("cost", cost::run),
    ("crash", |bench| crash::run(&bench.binaries, CRASH_SECONDS)),
];

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    let known = |name: &String| PARTS.iter().any(|(part, _)| part == name);
    let names: Vec<_> = PARTS.iter().map(|(name, _)| *name).collect();
    ensure!(wanted.iter().all(known), "the parts are {}", names.join(", "));
    let bench = Bench::prepare()?;
    let mut figures = Vec::new();
    for (name, part) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            let started = Instant::now();
            println!("\n--- {name}");
            let figure = part(&bench).with_context(|| format!("part {name}"))?;
            figures.push(format!("{name}: {figure} ({:.0} s)", started.elapsed().as_secs_f64()));
        }
    }
    println!("\n{}", figures.join("\n"));
    println!("lab: {} of {} parts hold, on a simulated GPU", figures.len(), PARTS.len());
    Ok(())
}
