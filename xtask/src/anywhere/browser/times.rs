//! How long the page takes from a drop to the verdict, beside the command.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Held, empty_folder, median, must_succeed, scratch, shared_data};
use whyoom_trace::Bytes;

use super::page::{Page, Took};
use crate::tools::{file_name, silent_python};

/// So many times the command's time the page may take, from the drop to the verdict.
const MOST_RATIO: f64 = 3.0;
/// Times that the command and the page are timed: the median counts.
const TIMES: usize = 5;
/// Longer than this nobody waits for a page to answer, in milliseconds.
const MOST_SILENT: f64 = 1000.0;
/// What the page and its worker may take.
const MOST_MEMORY: Bytes = Bytes(2 << 30);
/// Who opens the page has to find the file first: so long it has been open, in milliseconds. At once is told beside.
const OPEN: u64 = 5000;
/// Entries of the large snapshot.
const ENTRIES: &str = "1000000";

pub(in crate::anywhere) fn run(page: &Page) -> Result<Held> {
    println!(
        "{:<34} {:>10} {:>10} {:>7} {:>10} {:>10} {:>10} {:>10}",
        "", "command", "page", "ratio", "at once", "report", "silent", "memory"
    );
    let files = [largest_snapshot()?, million()?];
    let times: Vec<Time> = files.iter().map(|file| time(page, file)).collect::<Result<_>>()?;
    let slow: Vec<&str> =
        times.iter().filter(|time| !time.holds).map(|time| time.text.as_str()).collect();
    let bars = format!("{MOST_RATIO} x, {MOST_MEMORY} and {MOST_SILENT} ms of silence");
    ensure!(slow.is_empty(), "{}: not within {bars}", slow.join("; "));
    let texts: Vec<&str> = times.iter().map(|time| time.text.as_str()).collect();
    Ok(Held::new(format!("{}; within {bars}", texts.join("; "))))
}

/// The largest snapshot from a real GPU.
fn largest_snapshot() -> Result<PathBuf> {
    let snapshots = shared_data()?.canonicalize()?.join("torch-snapshots");
    let sizes = fs::read_dir(&snapshots)?.map(|entry| {
        let entry = entry?;
        Ok((entry.metadata()?.len(), entry.path()))
    });
    let sizes: Vec<(u64, PathBuf)> = sizes.collect::<std::io::Result<_>>()?;
    sizes.into_iter().max().map(|(_, path)| path).context("no snapshots")
}

fn million() -> Result<PathBuf> {
    let million = scratch("why-speed")?.join("million.pickle");
    if !million.exists() {
        silent_python("generate_snapshot.py", &[Path::new(ENTRIES), &million])?;
    }
    Ok(million)
}

/// A time beside the command's.
struct Time {
    text: String,
    holds: bool,
}

fn time(page: &Page, file: &Path) -> Result<Time> {
    let command = of_command(file)?;
    let took = of_page(page, file, OPEN)?;
    let of = |took: &[Took], figure: fn(&Took) -> f64| {
        median(&took.iter().map(figure).collect::<Vec<_>>())
    };
    let verdict = of(&took, |took| took.verdict_milliseconds)?;
    let at_once = of(&of_page(page, file, 0)?, |took| took.verdict_milliseconds)?;
    let whole = of(&took, |took| took.whole_milliseconds)?;
    let silent = took.iter().map(|took| took.silent_milliseconds).fold(0.0, f64::max);
    let memory = Bytes(took.iter().map(|took| took.most_memory).max().unwrap_or(u64::MAX));
    let ratio = verdict / command;
    ensure!(ratio.is_finite() && ratio > 0.0 && memory > Bytes(0), "nothing was measured");
    let name = file_name(file);
    println!(
        "{name:<34} {command:>7.0} ms {verdict:>7.0} ms {ratio:>6.2}x {at_once:>7.0} ms {whole:>7.0} ms \
         {silent:>7.0} ms {:>10}",
        memory.to_string()
    );
    let holds = ratio <= MOST_RATIO && silent <= MOST_SILENT && memory <= MOST_MEMORY;
    Ok(Time { text: format!("{name} {ratio:.2} x the command's time, {memory}"), holds })
}

/// The command's median, in milliseconds.
fn of_command(file: &Path) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let started = Instant::now();
        let mut why = Command::new(Build::ready()?.whyoom());
        must_succeed(why.arg("why").arg(file).stdout(Stdio::null()).stderr(Stdio::null()))?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    median(&times)
}

fn of_page(page: &Page, file: &Path, open: u64) -> Result<Vec<Took>> {
    let files = vec![file.to_owned(); TIMES];
    let took = page.answers(&files, open, &empty_folder("anywhere-times")?)?;
    if let Some(trouble) = took.iter().find_map(|took| took.trouble.first()) {
        bail!("{}: {trouble}", file.display());
    }
    Ok(took)
}
