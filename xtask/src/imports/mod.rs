//! What other tools wrote, read: by the tools themselves where they run here, else against independent sums.

mod nsys;
mod rmm;
mod totals;

use anyhow::Result;
use harness::Build;

use crate::parts;

const PARTS: &[parts::Part<Build>] = &[
    ("rmm", rmm::run),
    ("rmm-speed", rmm::speed),
    ("nsys", nsys::run),
    ("nsys-speed", nsys::speed),
];

pub(crate) fn run(parts: &[String]) -> Result<()> {
    parts::run("imports", PARTS, parts, Build::ready()?)
}
