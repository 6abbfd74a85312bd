//! `cargo xtask exactness`: the model of PyTorch's allocator against what PyTorch did.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use whyoom_allocators::{
    exactness::{compare_reserved, follow},
    policies::pytorch::{PyTorchSettings, TieBreak},
    workload::{Run, Workloads},
};
use whyoom_sources::torch_snapshot;
use whyoom_trace::{DeviceId, Tables};

use crate::{
    recordings,
    tools::{number, shared_data, skipped},
};

/// So many differences of a run are shown.
const SHOWN: usize = 3;

pub(crate) fn run(_: &[String]) -> Result<()> {
    println!("{:<50} {:>7} {:>5}", "recording", "steps", "wrong");
    let mut figures = Vec::new();
    match shared_data() {
        Some(data) => figures.push(real_traces(&data.join("torch-snapshots"))?),
        None => skipped("recordings from real GPUs"),
    }
    figures.push(lab_runs()?);
    println!("exactness: {}", figures.join("; "));
    Ok(())
}

/// Reserved bytes after every step of the runs that PyTorch made on the simulated GPU.
fn lab_runs() -> Result<String> {
    let (mut files, mut steps, mut differing) = (0, 0, 0);
    for recording in recordings::all()? {
        let facts: Value = serde_json::from_slice(&std::fs::read(&recording.facts)?)?;
        for run in device_runs(&recording.snapshot)? {
            let (settings, capacity) = conditions(&run, &facts);
            let (compared, differences) = compare_reserved(&run.workload, &settings, capacity);
            println!("{:<50} {compared:>7} {:>5}", recording.name, differences.len());
            for difference in differences.iter().take(SHOWN) {
                println!("    {difference:?}");
            }
            files += 1;
            steps += compared;
            differing += differences.len();
        }
    }
    ensure!(files > 0 && differing == 0, "{differing} of {steps} steps differ in reserved bytes");
    Ok(format!("reserved bytes after each of {steps} steps in {files} runs of PyTorch on the lab"))
}

/// The settings of a run, and what its device could give PyTorch.
fn conditions(run: &Run, facts: &Value) -> (PyTorchSettings, u64) {
    let total = facts["total_memory"].as_u64().unwrap_or_default();
    let mut settings = PyTorchSettings::from_recorded(&run.settings);
    settings.device_total = total;
    let fraction = number(&facts["memory_fraction"]);
    settings.allowed = (fraction < 1.0).then(|| (fraction * total as f64).round() as u64);
    let samples = facts["samples"].as_array().into_iter().flatten();
    let could =
        |sample: &Value| Some(sample["device_free"].as_u64()? + sample["reserved"].as_u64()?);
    (settings, samples.filter_map(could).min().unwrap_or(total))
}

/// Every allocation's address in the recordings from real GPUs.
fn real_traces(folder: &Path) -> Result<String> {
    let settings = PyTorchSettings { tie_break: TieBreak::Address, ..PyTorchSettings::default() };
    let (mut files, mut allocations, mut misses) = (0, 0, 0);
    for path in pickles(folder)? {
        for run in device_runs(&path)? {
            let agreement = follow(&run.workload, &settings);
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let missed = agreement.misses.len();
            println!("{name:<50} {:>7} {missed:>5}", agreement.allocations);
            for miss in agreement.misses.iter().take(SHOWN) {
                println!("    {miss:x?}");
            }
            files += 1;
            allocations += agreement.allocations;
            misses += missed;
        }
    }
    ensure!(files > 0, "no recordings in {}", folder.display());
    ensure!(misses == 0, "{misses} of {allocations} addresses are wrong");
    Ok(format!("each of {allocations} addresses in {files} recordings from real GPUs"))
}

pub(crate) fn pickles(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "pickle"))
        .collect();
    files.sort();
    Ok(files)
}

/// The runs in a snapshot that did something on a device.
pub(crate) fn device_runs(path: &Path) -> Result<Vec<Run>> {
    let (mut workloads, mut tables) = (Workloads::default(), Tables::default());
    let process = tables.process(path.display().to_string());
    let file = std::fs::File::open(path)?;
    torch_snapshot::import(file, process, &mut tables, &mut workloads)
        .with_context(|| path.display().to_string())?;
    let runs = workloads.into_runs().into_iter();
    Ok(runs.filter(|run| run.device != DeviceId::HOST && run.workload.allocations() > 0).collect())
}
