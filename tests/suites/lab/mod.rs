//! The simulated GPU under real programs.

mod clients;
mod cost;
mod crash;
mod log;
mod models;
mod programs;
mod torch;

use anyhow::Result;
use harness::Check;

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = torch::checks()?;
    checks.extend(programs::checks());
    checks.extend(clients::checks());
    checks.extend(models::checks());
    checks.push(Check::new("log", log::run));
    checks.push(Check::new("cost", cost::run));
    checks.push(Check::new("crash", || crash::run(30)));
    checks.push(Check::new("deep-crash", || crash::run(300)));
    Ok(checks)
}
