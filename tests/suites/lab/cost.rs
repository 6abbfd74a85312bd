//! What a simulated call costs, against an mmap and munmap pair in the same process.

use anyhow::{Result, ensure};
use harness::{Held, Trial, cuda_programs};
use serde::Deserialize;

/// A simulated call may cost no more than the pair of system calls.
const BAR: f64 = 1.0;

/// The line of `cost.cu`: nanoseconds.
#[derive(Deserialize)]
struct Cost {
    mmap_munmap_ns: f64,
    #[serde(rename = "cudaMalloc_cudaFree_ns")]
    allocation_ns: f64,
    launch_ns: f64,
    holds: bool,
}

pub(super) fn run() -> Result<Held> {
    let no_flags: [&str; 0] = [];
    let cost: Cost = Trial::on(&no_flags, &[cuda_programs()?.join("cost")]).plain()?.figures()?;
    let pair = cost.mmap_munmap_ns;
    let measured = [pair, cost.allocation_ns, cost.launch_ns].iter().all(|time| *time > 0.0);
    ensure!(cost.holds && measured, "a call failed, or took no time");
    let (allocation, launch) = (cost.allocation_ns / pair, cost.launch_ns / pair);
    let figure = format!(
        "cudaMalloc+cudaFree {allocation:.2}x, a launch {launch:.2}x of mmap+munmap ({pair:.0} ns)"
    );
    ensure!(allocation <= BAR && launch <= BAR, "over {BAR}x: {figure}");
    Ok(Held::new(figure))
}
