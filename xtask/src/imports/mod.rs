//! What other tools wrote, read: by the tools themselves where they run here, else against independent sums.

mod nsys;
mod rmm;

use anyhow::{Result, bail, ensure};
use harness::{
    Build,
    documents::{Device, Totals, Why},
};

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

/// The figures of the one process on the one GPU in a file, which was read as a file of this kind.
fn of_gpu<'a>(told: &'a Why, kind: &str) -> Result<&'a Totals> {
    let is_read = matches!(&told.inputs[..], [input] if input.kind == kind);
    ensure!(is_read, "not read as {kind}: {:?}", told.inputs);
    let is_gpu = |one: &&Totals| !matches!(one.device, Device::Host(_));
    let on_gpus: Vec<_> = told.totals.iter().filter(is_gpu).collect();
    let [totals] = on_gpus[..] else { bail!("not of one process on one GPU: {on_gpus:?}") };
    Ok(totals)
}
