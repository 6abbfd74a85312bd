//! `cargo xtask recorder [PART…]`: `whyoom run` on programs whose truth is known, by every road into
//! the driver, through every end of a process, and with everything refused that it needs.
//!
//! A part is a file here and a line in the table. Each prints what it saw and returns its figure.
//! `cargo xtask recorder-cost` measures what recording costs.

mod blocks;
mod by_name;
mod calls;
mod cost;
mod fail_open;
mod families;
mod growth;
mod kill;
mod lives;
mod panics;
pub(crate) mod programs;
pub(crate) mod stage;
pub(crate) mod tally;
pub(crate) mod trial;
mod ways;

use anyhow::Result;

use self::stage::Stage;
use crate::parts::{self, Part};

const PARTS: &[Part<Stage>] = &[
    ("programs", programs::run),
    ("families", families::run),
    ("ways", ways::run),
    ("lives", lives::run),
    ("fail-open", fail_open::run),
    ("growth", growth::run),
    ("kill", kill::run),
];

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    parts::run("recorder", PARTS, wanted, Stage::prepare)
}

pub(crate) fn cost(_: &[String]) -> Result<()> {
    cost::run(&Stage::prepare()?)
}
