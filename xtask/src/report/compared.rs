//! The page of `whyoom diff` of two very long runs.

use std::{fs, path::Path, process::Command, time::Instant};

use anyhow::{Result, ensure};
use harness::{Build, Look, must_succeed};
use whyoom_trace::Bytes;

use super::{
    looks::{MOST_MILLISECONDS, SCHEMES, SIZES, looked_at, slowest},
    made,
};

/// What it may take, and be.
const MOST_SECONDS: f64 = 15.0;
const MOST_BYTES: u64 = 3 << 20;
/// What A keeps of every step less than B, in MiB.
const LESS: u64 = 2;

/// Compares two recordings of at least so many events each.
pub(super) fn long_runs(folder: &Path, events: u64) -> Result<String> {
    let (a, b, file) = (folder.join("a"), folder.join("b"), folder.join("diff.html"));
    for (recording, left) in [(&a, made::LEFT - LESS), (&b, made::LEFT)] {
        fs::create_dir_all(recording)?;
        made::write(recording, events, left)?;
    }
    let mut whyoom = Command::new(Build::ready()?.whyoom());
    let started = Instant::now();
    must_succeed(whyoom.arg("diff").args([&a, &b]).arg("--report").arg(&file))?;
    let seconds = started.elapsed().as_secs_f64();
    [&a, &b].into_iter().try_for_each(fs::remove_dir_all)?;
    let size = fs::metadata(&file)?.len();
    let looks: Vec<Look> =
        SIZES.iter().flat_map(|size| SCHEMES.map(|one| looked_at(&file, *size, one))).collect();
    let ready = slowest(&looks)?;
    println!("{:<34} {seconds:>10.1} s, bar {MOST_SECONDS} s", "whyoom diff --report, of two runs");
    let bar = Bytes(MOST_BYTES);
    println!("{:<34} {:>12}, bar {bar}", "the page of both", Bytes(size).to_string());
    println!("{:<34} {ready:>9} ms", "until it is interactive");
    ensure!(seconds < MOST_SECONDS, "{seconds:.1} s, over {MOST_SECONDS}");
    ensure!(size <= MOST_BYTES, "{size} bytes, over {MOST_BYTES}");
    ensure!(ready < MOST_MILLISECONDS, "{ready} ms, over {MOST_MILLISECONDS}");
    Ok(format!("two of them compared in {seconds:.1} s and {}", Bytes(size)))
}
