//! `whyoom diff`, and memory by module.

mod cost;
mod html;
mod modules;
mod pairs;
mod real;
mod truth;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = pairs::checks()?;
    checks.push(truth::check());
    checks.extend(real::checks());
    checks.extend(modules::checks());
    checks.extend(cost::checks());
    checks.extend(html::checks());
    Ok(checks)
}
