//! A hundred million events in one pass, by a process of its own whose memory is bounded.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use whyoom_recording::{Recording, Unresolved};
use whyoom_trace::{Bytes, Tables};

use super::{Bench, bytes_of, made::Checked, scale};
use crate::model_scale::peak_resident;

const EVENTS: u64 = 100_000_000;
const THREADS: u32 = 8;
const EACH: u64 = EVENTS / THREADS as u64;
const BAR: Bytes = Bytes(300 << 20);

pub(super) fn run(bench: &Bench) -> Result<String> {
    let folder = bench.fresh("read")?;
    let seconds = scale::write(&folder, THREADS, EACH)?;
    println!("{:<34} {:>10}", "recording", bytes_of(&folder, "")?.to_string());
    println!("{:<34} {:>8.1} M/s", "written", EVENTS as f64 / seconds / 1e6);
    let reader = Command::new(std::env::current_exe()?)
        .args(["recording", "as-reader"])
        .arg(&folder)
        .stderr(Stdio::inherit())
        .output()?;
    fs::remove_dir_all(&folder)?;
    let told = String::from_utf8(reader.stdout)?;
    print!("{told}");
    ensure!(reader.status.success(), "the reader failed");
    Ok(told.lines().last().context("the reader said nothing")?.to_owned())
}

/// Reads a recording, and says how fast and in how much memory.
pub(super) fn measure(folder: &Path) -> Result<()> {
    let started = Instant::now();
    let mut checked = Checked::new(THREADS);
    let losses =
        Recording::open(folder)?.read(&mut Unresolved, &mut Tables::default(), &mut checked)?;
    ensure!(losses.words().is_empty(), "{losses}");
    let read = checked.finish(EACH)?;
    let rate = read as f64 / started.elapsed().as_secs_f64() / 1e6;
    let resident = peak_resident()?;
    ensure!(resident <= BAR, "{resident} resident, over {BAR}");
    println!("{read} events in one pass at {rate:.1} million a second in {resident} resident");
    Ok(())
}
