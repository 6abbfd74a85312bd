//! The safe layer of the crate cudarc, run on whatever device the driver offers.
//!
//! What kernels compute is not looked at: the simulated device computes nothing. Prints one JSON
//! line with the number of checks; exits with 1 when one of them failed.
//!
//! `churn` and `fill` are for the test that kills processes: they exit with 3 when something is
//! wrong.
#![allow(clippy::disallowed_methods, reason = "a test client's own files")]

mod checks;
mod churn;
mod execution;
mod fill;
mod graphs;
mod memory;

use std::{path::Path, process::ExitCode};

use checks::Checks;
use cudarc::driver::{CudaContext, sys::CUdevice_attribute};

/// What a killed process cannot exit with.
const WRONG: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        [] => return check(),
        ["churn", seed, progress] => churn::run(seed, Path::new(progress), None),
        ["churn", seed, progress, count] => churn::run(seed, Path::new(progress), Some(count)),
        ["fill"] => fill::run(),
        _ => Err(anyhow::anyhow!("churn SEED PROGRESS_FILE [OPERATIONS], or fill, or nothing")),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    eprintln!("{}: {error:#}", arguments.join(" "));
    ExitCode::from(WRONG)
}

fn check() -> ExitCode {
    let mut checks = Checks::default();
    checks.run("devices", devices);
    checks.run("copies", memory::copies);
    checks.run("accounting", memory::accounting);
    checks.run("too much", memory::too_much);
    checks.run("pinned", memory::pinned);
    checks.run("events", execution::events);
    checks.run("module", execution::module);
    checks.run("launches", execution::launches);
    checks.run("threads", execution::threads);
    checks.run("graphs", graphs::replays);
    checks.run("memory of graphs", graphs::memory);
    checks.run("forbidden in captures", graphs::forbidden);
    let (line, holds) = checks.summary();
    println!("{line}");
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn devices(checks: &mut Checks) -> anyhow::Result<()> {
    let count = CudaContext::device_count()?;
    checks.that("there is a device", count > 0);
    for ordinal in 0..usize::try_from(count)? {
        let context = CudaContext::new(ordinal)?;
        checks.equal("ordinal", &context.ordinal(), &ordinal);
        checks.that("it has a name", !context.name()?.is_empty());
        checks.that("it has a UUID", context.uuid()?.bytes.iter().any(|byte| *byte != 0));
        checks
            .that("compute capability that CUDA 13 knows", context.compute_capability()? >= (7, 5));
        let threads =
            context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        checks.equal("threads of a block", &threads, &1024);
        let (free, total) = context.mem_get_info()?;
        checks.that("free is at most total", 0 < free && free <= total);
        checks.that("total is at most the device's", total <= context.total_mem()?);
    }
    checks.that("no device beyond the last", CudaContext::new(usize::try_from(count)?).is_err());
    Ok(())
}
