//! `whyoom diff`, and memory by module.

mod cost;
mod modules;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = modules::checks();
    checks.extend(cost::checks());
    Ok(checks)
}
