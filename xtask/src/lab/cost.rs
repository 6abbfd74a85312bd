//! What a simulated call costs, against an mmap and munmap pair in the same process.

use anyhow::{Result, ensure};

use super::{bench::Bench, programs};
use crate::tools::number;

/// A simulated call may cost no more than the pair of system calls.
const BAR: f64 = 1.0;

pub(super) fn run(bench: &Bench) -> Result<String> {
    let program = programs::build()?.join("cost");
    let no_flags: [&str; 0] = [];
    let figures = bench.run(&no_flags, &[program])?.figures()?;
    let pair = number(&figures["mmap_munmap_ns"]);
    let (allocation, launch) =
        (number(&figures["cudaMalloc_cudaFree_ns"]), number(&figures["launch_ns"]));
    println!("{:<24} {pair:>8.0} ns", "mmap + munmap");
    println!("{:<24} {allocation:>8.0} ns {:>6.2}x", "cudaMalloc + cudaFree", allocation / pair);
    println!("{:<24} {launch:>8.0} ns {:>6.2}x", "launch of a kernel", launch / pair);
    ensure!(allocation / pair <= BAR && launch / pair <= BAR, "over {BAR}x");
    Ok(format!(
        "cudaMalloc+cudaFree {:.2}x, a launch {:.2}x of mmap+munmap",
        allocation / pair,
        launch / pair
    ))
}
