//! What a program asked of its allocator, out of a recording.

use std::{fs::File, path::Path};

use anyhow::{Context, Result};
use whyoom_allocators::{Run, Workloads};
use whyoom_sources::{recording, torch_snapshot};
use whyoom_trace::{DeviceId, Tables};

/// The runs in a snapshot of PyTorch's, or in a folder that `whyoom run` made, that did something on a device.
pub fn device_runs(path: &Path) -> Result<Vec<Run>> {
    let (mut workloads, mut tables) = (Workloads::default(), Tables::default());
    let name = path.display().to_string();
    if path.is_dir() {
        recording::import(path, &mut recording::Unresolved, &mut tables, &mut workloads)
            .context(name)?;
    } else {
        let file = File::open(path).with_context(|| name.clone())?;
        let process = tables.process(name.clone());
        torch_snapshot::import(file, process, &mut tables, &mut workloads).context(name)?;
    }
    let runs = workloads.into_runs().into_iter();
    Ok(runs.filter(|run| run.device != DeviceId::HOST && run.workload.allocations() > 0).collect())
}
