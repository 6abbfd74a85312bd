//! `whyoom diff`, and memory by module.

mod cost;
mod html;
mod modules;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = modules::checks();
    checks.extend(cost::checks());
    checks.extend(html::checks());
    Ok(checks)
}
