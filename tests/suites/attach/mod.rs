//! `whyoom attach` on programs that were not started for it: what it says of them, what it costs them, and that they go on
//! as if nothing had been.

mod ended;
mod late;
mod program;
mod refused;
mod visits;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = visits::checks();
    checks.extend(ended::checks());
    checks.extend(late::checks());
    checks.extend(refused::checks());
    Ok(checks)
}
