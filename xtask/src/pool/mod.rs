//! `cargo xtask pool [PART…]`: the live pool under real programs on the simulated GPU.
//!
//! A part is a file here and a line in the table. Each prints what it saw and returns its figure.

mod answers;
mod captures;
mod checkers;
mod cost;
mod forks;
mod header;
mod hoarders;
mod instructions;
mod programs;
mod replayed;
mod rescue;
mod steady;
mod stress;
mod workloads;

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    parts::{self, Part},
    recorder::stage::Stage,
    tools::root,
};

const PARTS: &[Part<Stage>] = &[
    ("workloads", workloads::run),
    ("rescue", rescue::run),
    ("steady", steady::run),
    ("programs", programs::run),
    ("hoarders", hoarders::run),
    ("answers", answers::run),
    ("captures", captures::run),
    ("fork", forks::run),
    ("header", header::run),
    ("stress", stress::run),
    ("cost", cost::run),
    // From here on only what is asked for by name.
    ("cost-loose", cost::loose),
    ("billion", stress::billion),
    ("interleavings", checkers::interleavings),
    ("miri", checkers::miri),
];
const BY_NAME: usize = 4;

/// What `whyoom run` is told, so that the pool serves PyTorch, or the driver's calls where there is none.
const POOL: &str = "--pool";
/// The same, for both in one process.
const EVERYTHING: &str = "--pool=everything";

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    let parts = if wanted.is_empty() { &PARTS[..PARTS.len() - BY_NAME] } else { PARTS };
    parts::run("pool", parts, wanted, Stage::prepare)
}

/// A scenario of the pool's own.
fn source(name: &str) -> PathBuf {
    root().join("tests/scenarios/pool").join(name)
}
