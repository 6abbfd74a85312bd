//! What a recorded run would have taken under the policy that the pool carries out.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::device_runs;
use whyoom_allocators::{
    Outcome, SimulatedDevice, Step,
    catalogue::{self, Conditions},
    policies::pytorch::PyTorchSettings,
    replay,
};

const POLICY: &str = "stitch";

/// Replays the requests of the one process that a recording has, on a device of this size that gave
/// the process this much at most.
pub(super) fn outcome(folder: &Path, device_total: u64, room: u64) -> Result<Outcome> {
    let mut runs = device_runs(folder)?;
    ensure!(runs.len() == 1, "{} runs with requests in place of one", runs.len());
    let mut workload = runs.remove(0).workload;
    // What was refused in the run is no request here: all that are left were served.
    workload.steps.retain(|step| !matches!(step, Step::OutOfMemory { .. }));
    let settings = PyTorchSettings { device_total, ..Default::default() };
    let entry = catalogue::find(POLICY).context("the policy has another name")?;
    let mut policy = entry.make(&Conditions { recorded: settings });
    let mut device = SimulatedDevice::new(room);
    let outcome = replay(&workload, policy.as_mut(), &mut device);
    ensure!(outcome.fits(), "the replay fails where the run did not: {:?}", outcome.failed);
    Ok(outcome)
}
