//! What a recorded run would have taken under the policy that the pool carries out.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use whyoom_allocators::{
    SimulatedDevice,
    catalogue::{self, Conditions},
    policies::pytorch::PyTorchSettings,
    replay::{Outcome, replay},
    workload::{Run, Step, Workloads},
};
use whyoom_sources::recording;
use whyoom_trace::{DeviceId, Tables};

const POLICY: &str = "stitch";

/// Replays the requests of the one process that a recording has, on a device of this size that gave
/// the process this much at most.
pub(super) fn outcome(folder: &Path, device_total: u64, room: u64) -> Result<Outcome> {
    let mut run = run(folder)?;
    // What was refused in the run is no request here: all that are left were served.
    run.workload.steps.retain(|step| !matches!(step, Step::OutOfMemory { .. }));
    let settings = PyTorchSettings { device_total, ..Default::default() };
    let entry = catalogue::find(POLICY).context("the policy has another name")?;
    let mut policy = entry.make(&Conditions { recorded: settings });
    let mut device = SimulatedDevice::new(room);
    let outcome = replay(&run.workload, policy.as_mut(), &mut device);
    ensure!(outcome.fits(), "the replay fails where the run did not: {:?}", outcome.failed);
    Ok(outcome)
}

fn run(folder: &Path) -> Result<Run> {
    let (mut workloads, mut tables) = (Workloads::default(), Tables::default());
    recording::import(folder, &mut recording::Unresolved, &mut tables, &mut workloads)
        .with_context(|| folder.display().to_string())?;
    let runs = workloads.into_runs().into_iter();
    let mut runs =
        runs.filter(|run| run.device != DeviceId::HOST && run.workload.allocations() > 0);
    let run = runs.next().context("the recording has no requests")?;
    ensure!(runs.next().is_none(), "the recording has more than one run");
    Ok(run)
}
