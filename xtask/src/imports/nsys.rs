//! Exports of Nsight Systems, made from its documented schema: read, and compared with sums that Python's own
//! SQLite makes.

use std::{fs, path::Path, process::Command, time::Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::{
    lab::Bench,
    tools::{must_succeed, python, root, scratch, why},
};

/// Rows of the export that is timed, and the most seconds that they may take.
const ROWS: u64 = 1_000_000;
const SECONDS: f64 = 20.0;

pub(super) fn run(bench: &Bench) -> Result<String> {
    let fixtures = root().join("tests/fixtures/imports");
    must_succeed(Command::new("python3").arg(fixtures.join("make.py")).arg("--check"))?;
    let export = fixtures.join("nsys-growth.sqlite");
    let told = why(&bench.binaries.join("whyoom"), &[&export])?;
    ensure!(told["inputs"][0]["kind"] == "nsight-systems", "{}", told["inputs"]);
    let sums = sums_of(&export)?;
    compare(&sums, &told)?;
    ensure!(told["verdict"]["cause"] == "growth", "{}", told["verdict"]["cause"]);
    println!("{sums}");
    Ok("a made export read to the byte, growth found by its marks".to_owned())
}

/// What is in use at the end and at the peak on GPU 0, by a query and a running sum.
fn sums_of(export: &Path) -> Result<Value> {
    python("nsys_sums.py", &[export])
}

fn compare(sums: &Value, told: &Value) -> Result<()> {
    let driver = &told["totals"][0]["driver"];
    for (name, figure) in [
        ("now", &driver["in_use_bytes"]),
        ("peak", &driver["peak_bytes"]),
        ("made", &driver["allocations_made"]),
    ] {
        ensure!(&sums[name] == figure, "{name}: {figure}, and Python's sum is {}", sums[name]);
    }
    Ok(())
}

/// A large export, whose rows do not lie in the order of time.
pub(super) fn speed(bench: &Bench) -> Result<String> {
    let export = scratch("imports")?.join("long.sqlite");
    let _ = fs::remove_file(&export);
    python("nsys_long.py", &[&export, Path::new(&ROWS.to_string())])?;
    let started = Instant::now();
    let told = why(&bench.binaries.join("whyoom"), &[&export])?;
    let seconds = started.elapsed().as_secs_f64();
    compare(&sums_of(&export)?, &told)?;
    ensure!(seconds < SECONDS, "{seconds:.1} s, and {SECONDS} are allowed");
    fs::remove_file(export)?;
    Ok(format!("{ROWS} rows out of order in {seconds:.1} s"))
}
