//! `cargo xtask fit [PART…]`: `whyoom fit` against real GPUs, exhaustive sweeps and formulas.
//!
//! A part is a file here and a line in the table. Each prints what it saw and returns its figure.

mod behaviour;
mod question;
mod real;
mod sharded;
mod side_by_side;
mod vary;
mod zoo;

use anyhow::Result;

use crate::{
    lab::Bench,
    parts::{self, Part},
};

const PARTS: &[Part<Bench>] = &[
    ("behaviour", behaviour::run),
    ("real", real::run),
    ("zoo", zoo::run),
    ("vary", vary::run),
    ("sharded", sharded::run),
];

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    parts::run("fit", PARTS, wanted, Bench::prepare)
}
