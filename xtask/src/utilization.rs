//! `cargo xtask utilization`: every policy on every recorded run, with the lower bound.

use std::path::Path;

use anyhow::{Result, ensure};
use whyoom_allocators::{
    SimulatedDevice,
    policies::{
        pytorch::{PyTorch, PyTorchSettings},
        stitch::Stitch,
    },
    policy::Policy,
    replay::{Outcome, replay_checked},
    workload::Workload,
};

use crate::{
    exactness::{pickles, runs},
    tools::{shared_data, skipped},
};

/// More than any recorded run takes: what is asked here is how much, not whether.
const ROOM: u64 = 1 << 40;

pub(crate) fn run(_: &[String]) -> Result<()> {
    let Some(data) = shared_data() else {
        skipped("recordings from real GPUs");
        return Ok(());
    };
    let mut ratios = Vec::new();
    for path in pickles(&data.join("torch-snapshots"))? {
        for run in runs(&path)?.into_iter().filter(|run| run.workload.allocations() > 0) {
            ratios.push(row(&path, &run.workload)?);
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!("utilization: median {:.4}", ratios[ratios.len() / 2]);
    Ok(())
}

fn row(path: &Path, workload: &Workload) -> Result<f64> {
    let native = PyTorchSettings::default();
    let expandable = PyTorchSettings { expandable_segments: true, ..native.clone() };
    let mut results = Vec::new();
    let policies: Vec<Box<dyn Policy>> = vec![
        Box::new(PyTorch::new(native)),
        Box::new(PyTorch::new(expandable)),
        Box::new(Stitch::new(80 << 30)),
    ];
    for mut policy in policies {
        let mut device = SimulatedDevice::new(ROOM);
        let outcome: Outcome = replay_checked(workload, policy.as_mut(), &mut device)?;
        ensure!(outcome.fits(), "{:?}", outcome.failed);
        results.push(outcome);
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    print!("{name:<50} {:>6}", results[0].peak_live >> 20);
    for outcome in &results {
        print!(
            " | {:>6} {:.4} {:>6} {:>6.2}",
            outcome.peak_reserved >> 20,
            outcome.utilization(),
            outcome.driver_calls,
            0.0
        );
    }
    let best = results[0].peak_reserved.min(results[1].peak_reserved);
    println!("{}", if results[2].peak_reserved > best { "  WORSE" } else { "" });
    Ok(results[2].utilization())
}
