//! The figures that a verdict on an imported file must have.

use anyhow::{Result, bail, ensure};
use harness::documents::{Device, Totals, Why};

/// The figures of the one process on the one GPU in a file, which was read as a file of this kind.
pub(super) fn of_gpu<'a>(told: &'a Why, kind: &str) -> Result<&'a Totals> {
    let is_read = matches!(&told.inputs[..], [input] if input.kind == kind);
    ensure!(is_read, "not read as {kind}: {:?}", told.inputs);
    let is_gpu = |one: &&Totals| !matches!(one.device, Device::Host(_));
    let on_gpus: Vec<_> = told.totals.iter().filter(is_gpu).collect();
    let [totals] = on_gpus[..] else { bail!("not of one process on one GPU: {on_gpus:?}") };
    Ok(totals)
}
