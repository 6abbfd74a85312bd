//! The live pool under real programs on the simulated GPU.

mod answers;
mod captures;
mod checkers;
mod cost;
mod forks;
mod header;
mod hoarders;
mod instructions;
mod programs;
mod replayed;
mod rescue;
mod steady;
mod stress;
mod workloads;

use anyhow::Result;
use harness::{Check, Trial, python, root, text};

/// What `whyoom run` is told, so that the pool serves PyTorch, or the driver's calls where there is none.
const POOL: &str = "--pool";
/// The same, for both in one process.
const EVERYTHING: &str = "--pool=everything";

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = vec![
        Check::new("workloads", workloads::run),
        Check::new("rescue", rescue::run),
        Check::new("steady", steady::run),
        Check::new("hoarders", hoarders::run),
        Check::new("answers", answers::run),
        Check::new("captures::graphs", captures::graphs),
        Check::new("captures::graph_training", captures::graph_training),
        Check::new("captures::untouched", captures::untouched),
        Check::new("fork::children", forks::children),
        Check::new("fork::loader", forks::loader),
        Check::new("header::c", header::c),
        Check::new("header::cpp", header::cpp),
        Check::new("stress", stress::run),
        Check::new("deep-stress", stress::deep),
        Check::new("deep-billion", stress::billion),
        Check::new("deep-interleavings", checkers::interleavings),
        Check::new("deep-miri", checkers::miri),
        Check::new("instructions", instructions::run),
        Check::new("cost", cost::run),
    ];
    checks.extend(programs::checks()?);
    Ok(checks)
}

/// A script below `tests/scenarios`, on a device of this size.
fn script(memory: &str, path: &str) -> Result<Trial> {
    let script = root().join("tests/scenarios").join(path);
    Ok(Trial::new(memory, &[python()?, text(&script)]))
}
