//! Exports of Nsight Systems, made from its documented schema: read, and compared with sums that Python's own
//! SQLite makes.

use std::{fs, path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, documents::Why, must_succeed, root, scratch};
use serde::Deserialize;

use super::totals::of_gpu;
use crate::tools::{python, silent_python};

/// Rows of the export that is timed, and the most seconds that they may take.
const ROWS: u64 = 1_000_000;
const SECONDS: f64 = 20.0;

/// What is in use at the end and at the peak on GPU 0, and what was allocated.
#[derive(Debug, PartialEq, Deserialize)]
struct Sums {
    now: u64,
    peak: u64,
    made: u64,
}

pub(super) fn run(build: &Build) -> Result<Held> {
    let fixtures = root().join("tests/fixtures/imports");
    must_succeed(Command::new("python3").arg(fixtures.join("make.py")).arg("--check"))?;
    let export = fixtures.join("nsys-growth.sqlite");
    let told = Why::ask(build, &[&export])?;
    compare(&export, &told)?;
    told.has_cause("growth")?;
    Ok(Held::new("a made export read to the byte, growth found by its marks"))
}

/// The figures are those of a query and a running sum.
fn compare(export: &Path, told: &Why) -> Result<()> {
    let sums: Sums = python("nsys_sums.py", &[export])?;
    let driver = of_gpu(told, "nsight-systems")?.driver.as_ref().context("no driver calls")?;
    let (now, peak, made) = (driver.in_use_bytes, driver.peak_bytes, driver.allocations_made);
    let own = Sums { now, peak, made };
    println!("{own:?}");
    ensure!(own == sums && made > 0, "{own:?}, and Python's sums are {sums:?}");
    Ok(())
}

/// A large export, whose rows do not lie in the order of time.
pub(super) fn speed(build: &Build) -> Result<Held> {
    let export = scratch("imports")?.join("long.sqlite");
    let _ = fs::remove_file(&export);
    silent_python("nsys_long.py", &[&export, Path::new(&ROWS.to_string())])?;
    let started = Instant::now();
    let told = Why::ask(build, &[&export])?;
    let seconds = started.elapsed().as_secs_f64();
    compare(&export, &told)?;
    ensure!(seconds < SECONDS, "{seconds:.1} s, and {SECONDS} are allowed");
    fs::remove_file(export)?;
    Ok(Held::new(format!("{ROWS} rows out of order in {seconds:.1} s")))
}
