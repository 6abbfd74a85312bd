//! Runs that PyTorch made on the simulated GPU, recorded by PyTorch itself: what replays are held
//! against. `tests/scenarios/workloads` tells what they are.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
    time::SystemTime,
};

use anyhow::{Context, Result, anyhow, ensure};

use crate::{
    lab::Bench,
    tools::{environment, root, scratch},
};

/// The workloads of `tests/scenarios/workloads`.
pub(crate) const WORKLOADS: &[&str] = &[
    "fixed",
    "variable",
    "checkpointing",
    "adapters",
    "mixed_precision",
    "convolution",
    "streams",
    "empty_cache",
    "memory_pool",
    "out_of_memory",
    "copies",
];
const SETTINGS: &[&str] = &["native", "max_split", "roundup", "gc", "expandable"];
/// The device that their sizes are chosen for.
pub(crate) const DEVICE: &[&str] =
    &["--gpu", "rtx-4090", "--memory", "4GiB", "--kernel", "spin_kernel=busy:20ms"];
/// Processes at a time.
const TOGETHER: usize = 2;

/// One recorded run.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) snapshot: PathBuf,
    /// What PyTorch said of itself while it ran.
    pub(crate) facts: PathBuf,
}

/// All runs; those that are older than what makes them are made anew.
pub(crate) fn all() -> Result<Vec<Recording>> {
    let bench = Bench::prepare()?;
    let python = environment("torch")?.join("bin/python").display().to_string();
    let script = root().join("tests/scenarios/workloads/record.py");
    let folder = scratch("recordings")?;
    let made_of = newest(&[&bench.binaries.join("libwhyoom_lab_cuda.so"), &script])?;
    let recordings: Vec<Recording> = WORKLOADS
        .iter()
        .flat_map(|workload| SETTINGS.iter().map(move |setting| format!("{workload}-{setting}")))
        .map(|name| Recording {
            snapshot: folder.join(format!("{name}.pickle")),
            facts: folder.join(format!("{name}.json")),
            name,
        })
        .collect();
    let stale = recordings.iter().filter(|recording| age(&recording.facts) < Some(made_of));
    let queue = Mutex::new(stale.collect::<Vec<_>>());
    let record = |recording: &Recording| -> Result<()> {
        let (workload, setting) =
            recording.name.rsplit_once('-').context("a name has two parts")?;
        let out = recording.facts.with_extension("").display().to_string();
        let script = script.display().to_string();
        let command = [&python, &script, workload, setting, &out].map(str::to_owned);
        let outcome = bench.run(DEVICE, &command)?;
        ensure!(outcome.success, "{}: {}", recording.name, outcome.stderr);
        Ok(())
    };
    let work = || -> Result<()> {
        while let Some(recording) = queue.lock().ok().and_then(|mut queue| queue.pop()) {
            record(recording)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..TOGETHER).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow!("a recorder panicked"))??;
        }
        Ok(())
    })?;
    Ok(recordings)
}

fn age(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

fn newest(paths: &[&Path]) -> Result<SystemTime> {
    paths.iter().filter_map(|path| age(path)).max().context("the lab is not built")
}
