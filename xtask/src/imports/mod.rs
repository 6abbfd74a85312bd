//! What other tools wrote, read: by the tools themselves where they run here, else against independent sums.

mod nsys;
mod rmm;

use anyhow::Result;

use crate::{lab::Bench, parts};

const PARTS: &[parts::Part<Bench>] = &[
    ("rmm", rmm::run),
    ("rmm-speed", rmm::speed),
    ("nsys", nsys::run),
    ("nsys-speed", nsys::speed),
];

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    parts::run("imports", PARTS, wanted, Bench::prepare)
}
