//! Processes that fork under the pool: the child's frees do nothing, and nothing hangs.

use anyhow::{Result, ensure};
use harness::Held;
use serde::Deserialize;

use super::{POOL, script};

/// What forks.py says.
#[derive(Debug, Deserialize)]
struct Children {
    /// How they ended.
    children: Vec<i32>,
    allocated: u64,
    reserved_before: u64,
}

/// What dataloader.py says.
#[derive(Debug, Deserialize)]
struct Loader {
    batches: u64,
    batch_bytes: u64,
    peak_allocated: u64,
    reserved: u64,
    peak_pinned: u64,
}

pub(super) fn children() -> Result<Held> {
    let trial = script("4GiB", "pool/forks.py")?;
    let said: Children = trial.recorded_with("pool-forks", &[POOL])?.ran.figures()?;
    ensure!(said.children == [0, 0, 0], "{said:?}");
    ensure!(said.reserved_before >= said.allocated && said.allocated > 0, "{said:?}");
    Ok(Held::new("children free their parent's tensors to no effect"))
}

pub(super) fn loader() -> Result<Held> {
    let trial = script("8GiB", "torch/dataloader.py")?;
    let said: Loader = trial.recorded_with("pool-dataloader", &[POOL])?.ran.figures()?;
    ensure!(said.batches == 16 && said.peak_allocated == 2 * said.batch_bytes, "{said:?}");
    ensure!(said.reserved >= said.peak_allocated, "{said:?}");
    ensure!(said.peak_pinned >= said.batch_bytes && said.batch_bytes > 0, "{said:?}");
    Ok(Held::new(format!("forked loaders bring {} batches", said.batches)))
}
