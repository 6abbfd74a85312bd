//! `cargo xtask exactness`: the model of PyTorch's allocator against what PyTorch did.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use whyoom_allocators::{
    exactness::follow,
    policies::pytorch::{PyTorchSettings, TieBreak},
    workload::{Run, Workloads},
};
use whyoom_sources::torch_snapshot;
use whyoom_trace::Tables;

use crate::tools::{shared_data, skipped};

pub(crate) fn run(_: &[String]) -> Result<()> {
    let real = match shared_data() {
        Some(data) => real_traces(&data.join("torch-snapshots"))?,
        None => {
            skipped("recordings from real GPUs");
            String::new()
        }
    };
    println!("exactness: {real}");
    Ok(())
}

/// Every allocation's address in the recordings from real GPUs.
fn real_traces(folder: &Path) -> Result<String> {
    let settings = PyTorchSettings { tie_break: TieBreak::Address, ..PyTorchSettings::default() };
    let (mut files, mut allocations, mut misses) = (0, 0, 0);
    for path in pickles(folder)? {
        for run in runs(&path)?.into_iter().filter(|run| run.workload.allocations() > 0) {
            let agreement = follow(&run.workload, &settings);
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let missed = agreement.misses.len();
            println!("{name:<44} {:>7} {missed:>5}", agreement.allocations);
            for miss in agreement.misses.iter().take(3) {
                println!("    {miss:x?}");
            }
            files += 1;
            allocations += agreement.allocations;
            misses += missed;
        }
    }
    ensure!(files > 0, "no recordings in {}", folder.display());
    Ok(format!(
        "{} of {allocations} addresses in {files} recordings from real GPUs",
        allocations - misses
    ))
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

/// The runs in a snapshot.
pub(crate) fn runs(path: &Path) -> Result<Vec<Run>> {
    let (mut workloads, mut tables) = (Workloads::default(), Tables::default());
    let process = tables.process(path.display().to_string());
    let file = std::fs::File::open(path)?;
    torch_snapshot::import(file, process, &mut tables, &mut workloads)
        .with_context(|| path.display().to_string())?;
    Ok(workloads.into_runs())
}
