//! `whyoom fit` against real GPUs, real runs at the edge, and formulas.

mod behaviour;
mod frontier;
pub(crate) mod question;
mod real;
mod sharded;
mod vary;
mod zoo;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = behaviour::checks();
    checks.extend(real::checks()?);
    checks.extend(vary::checks());
    checks.push(Check::new("frontier", frontier::run));
    checks.push(Check::new("sharded", sharded::run));
    checks.push(Check::new("zoo", zoo::run));
    Ok(checks)
}
