//! `cargo xtask lab [PART…]`: the simulated GPU under real programs.
//!
//! A part is a file here and a line in the table. Each prints what it saw and returns its figure.

mod bench;
mod clients;
mod cost;
mod crash;
mod log;
mod models;
pub(crate) mod programs;
mod torch;

use anyhow::Result;

pub(crate) use self::bench::{Bench, Outcome};
use crate::parts::{self, Part};

/// Processes are killed for this long.
const CRASH_SECONDS: u64 = 300;

const PARTS: &[Part<Bench>] = &[
    ("torch", torch::run),
    ("programs", programs::run),
    ("clients", clients::run),
    ("models", models::run),
    ("log", log::run),
    ("cost", cost::run),
    ("crash", |bench| crash::run(&bench.binaries, CRASH_SECONDS)),
];

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    parts::run("lab", PARTS, wanted, Bench::prepare)
}
