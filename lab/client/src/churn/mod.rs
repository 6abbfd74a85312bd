//! Random use of the driver without end, made to be killed at any moment.
//!
//! `churn SEED PROGRESS_FILE [OPERATIONS]`. Out of memory is an answer like any other; whatever
//! else the driver refuses is a failure, because only what is allowed is asked for. With a number
//! of operations it must have the device to itself: at the end it gives everything back and checks
//! that all of it arrived.

mod blocks;
mod pools;
mod progress;
mod random;
mod tenant;
mod unless_full;
mod virtual_memory;

use std::{os::unix::process::parent_id, path::Path};

use anyhow::{Context, ensure};
use cudarc::driver::result;

use self::{progress::Progress, random::Random, tenant::Tenant};

/// How often the progress is written down.
const NOTED_EVERY: u64 = 100;

/// Runs until it is killed, its parent is gone, or the operations are done.
pub(crate) fn run(seed: &str, progress: &Path, operations: Option<&str>) -> anyhow::Result<()> {
    let mut random = Random::new(seed.parse().context("the seed is a number")?);
    let limit = operations.map(str::parse).transpose().context("operations are a number")?;
    let mut progress = Progress::open(progress)?;
    let parent = parent_id();
    result::init()?;
    let mut tenants = Vec::new();
    for ordinal in 0..result::device::get_count()? {
        tenants.push(Tenant::new(result::device::get(ordinal)?)?);
    }
    ensure!(!tenants.is_empty(), "there is no device");
    let before = if limit.is_some() { free_when_empty(&mut tenants)? } else { Vec::new() };
    let mut done = 0;
    while limit.is_none_or(|limit| done < limit) {
        let tenant = random.index(tenants.len());
        tenants[tenant].step(&mut random, &progress)?;
        done += 1;
        if done % NOTED_EVERY == 0 {
            progress.add(NOTED_EVERY, tenants[tenant].latest_export())?;
            if parent_id() != parent {
                return Ok(());
            }
        }
    }
    let after = free_when_empty(&mut tenants)?;
    ensure!(after == before, "free at first: {before:?}, and with all given back: {after:?}");
    Ok(())
}

/// What is free on the devices once this process has only primary contexts there. One device's
/// memory may be held through an import beside another's, so all give back before anything is read.
fn free_when_empty(tenants: &mut [Tenant]) -> anyhow::Result<Vec<usize>> {
    tenants.iter_mut().try_for_each(Tenant::give_all_back)?;
    tenants.iter_mut().map(Tenant::free).collect()
}
