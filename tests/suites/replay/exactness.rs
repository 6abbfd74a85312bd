//! The model of PyTorch's allocator against what PyTorch did.

use anyhow::{Context, Result, ensure};
use harness::Held;
use whyoom_allocators::{
    Run,
    exactness::{compare_reserved, follow},
    policies::pytorch::{PyTorchSettings, TieBreak},
};

use super::recordings::{self, Facts};

/// So many differences of a run are shown.
const SHOWN: usize = 3;

/// Reserved bytes after every step of the runs that PyTorch made on the simulated GPU.
pub(super) fn lab() -> Result<Held> {
    let recordings = recordings::all()?;
    let (mut steps, mut differing) = (0, 0);
    for recording in &recordings {
        let (run, name) = (recording.run()?, recording.name());
        let (settings, capacity) = conditions(&run, &recording.facts()?)?;
        let (compared, differences) = compare_reserved(&run.workload, &settings, capacity);
        ensure!(compared > 0, "{name}: no step to compare");
        println!("{name:<50} {compared:>7} {:>5}", differences.len());
        differences.iter().take(SHOWN).for_each(|difference| println!("    {difference:?}"));
        steps += compared;
        differing += differences.len();
    }
    ensure!(differing == 0, "{differing} of {steps} steps differ in reserved bytes");
    let runs = recordings.len();
    Ok(Held::new(format!(
        "reserved bytes after each of {steps} steps in {runs} runs of PyTorch on the lab"
    )))
}

/// The settings of a run, and what its device could give PyTorch.
fn conditions(run: &Run, facts: &Facts) -> Result<(PyTorchSettings, u64)> {
    let total = facts.total_memory;
    let mut settings = PyTorchSettings::from_recorded(&run.settings);
    settings.device_total = total;
    let fraction = facts.memory_fraction;
    settings.allowed = (fraction < 1.0).then(|| (fraction * total as f64).round() as u64);
    let could = facts.samples.iter().map(|sample| sample.device_free + sample.reserved);
    Ok((settings, could.min().context("no samples")?))
}

/// Every allocation's address in the recordings from real GPUs.
pub(super) fn real() -> Result<Held> {
    let settings = PyTorchSettings { tie_break: TieBreak::Address, ..PyTorchSettings::default() };
    let runs = recordings::real()?;
    let (mut allocations, mut misses) = (0, 0);
    for (name, workload) in &runs {
        let agreement = follow(workload, &settings);
        ensure!(agreement.allocations > 0, "{name}: no address to compare");
        println!("{name:<50} {:>7} {:>5}", agreement.allocations, agreement.misses.len());
        agreement.misses.iter().take(SHOWN).for_each(|miss| println!("    {miss:x?}"));
        allocations += agreement.allocations;
        misses += agreement.misses.len();
    }
    ensure!(misses == 0, "{misses} of {allocations} addresses are wrong");
    let files = runs.len();
    Ok(Held::new(format!("each of {allocations} addresses in {files} recordings from real GPUs")))
}
