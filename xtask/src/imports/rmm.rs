//! RMM's own log: RMM writes it in the lab, and the program says what is true of it.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use harness::{
    Build, Held, Trial, cuda,
    documents::{Replay, Why},
    environment, from_slice, must_succeed, root, scratch, site_packages,
};
use serde::Deserialize;

use super::totals::of_gpu;

/// The simulated GPU.
const MEMORY: &str = "2GiB";
/// The room that the scenario's pool may have.
const POOL: &str = "768MiB";
/// Lines of the log that is timed, and the most seconds that they may take.
const LINES: u64 = 2_000_000;
const SECONDS: f64 = 10.0;

/// What the program counted: in use, last asked for, granted.
#[derive(Debug, Deserialize)]
struct Truth {
    bytes: u64,
    asked: u64,
    allocations: u64,
}

pub(super) fn run(build: &Build) -> Result<Held> {
    let program = built()?;
    let folder = scratch("imports")?;
    let mut allocations = 0;
    for resource in ["cuda", "pool"] {
        let log = folder.join(format!("{resource}.dev0.csv"));
        let truth: Truth = trial(&program, &log, resource)?.plain()?.figures()?;
        println!("{resource}: {truth:?}");
        compare(&truth, &Why::ask(build, &[&log])?)
            .with_context(|| format!("the log over {resource}"))?;
        allocations += truth.allocations;
    }
    as_recorded(build, &program, &folder.join("recorded.csv"))?;
    as_replayed(build, &folder.join("pool.dev0.csv"))?;
    Ok(Held::new(format!(
        "{allocations} allocations in two logs of RMM 24.12, both read to the byte; its pool fails in {POOL} as \
         its model does"
    )))
}

fn trial(program: &Path, log: &Path, resource: &str) -> Result<Trial> {
    let command = [program.as_os_str(), log.as_os_str(), resource.as_ref()];
    // Where RMM writes of itself: into the working folder where nobody says.
    let own = scratch("imports")?.join("rmm_log.txt");
    Ok(Trial::new(MEMORY, &command).with("RMM_DEBUG_LOG_FILE", own))
}

fn built() -> Result<PathBuf> {
    let rmm = site_packages(&environment("rmm")?)?.join("librmm");
    let folder = scratch("imports")?;
    let script = root().join("tests/scenarios/rmm/build.sh");
    must_succeed(Command::new("sh").arg(script).args([&folder, &cuda()?, &rmm]))?;
    Ok(folder.join("pipeline"))
}

fn compare(truth: &Truth, told: &Why) -> Result<()> {
    let totals = of_gpu(told, "rmm-log")?;
    ensure!(told.inputs.iter().all(|input| input.notes.is_empty()), "{:?}", told.inputs);
    let [incident] = &told.incidents[..] else { bail!("not one failure: {:?}", told.incidents) };
    for (what, figure, expected) in [
        ("in use at the end", Some(totals.allocated_bytes), truth.bytes),
        ("in use at the failure", incident.allocated_bytes, truth.bytes),
        ("asked for", incident.requested_bytes, truth.asked),
        ("allocations", Some(totals.blocks_made), truth.allocations),
    ] {
        ensure!(figure == Some(expected), "{what}: {figure:?}, and the program counted {expected}");
    }
    ensure!(incident.reserved_bytes.is_none(), "the log does not tell what the pool held");
    Ok(())
}

/// Over CUDA's own memory the log and a recording of the driver's calls tell the same peak.
fn as_recorded(build: &Build, program: &Path, log: &Path) -> Result<()> {
    let recorded = trial(program, log, "cuda")?.recorded("imports-rmm")?;
    recorded.ran.succeeded()?;
    let by_driver = of_gpu(&recorded.verdict()?, "recording")?.peak_allocated_bytes;
    let by_log = of_gpu(&Why::ask(build, &[log])?, "rmm-log")?.peak_allocated_bytes;
    println!("peak by the driver's calls {by_driver}, by the log {by_log}");
    ensure!(by_driver == by_log && by_log > 0, "{by_driver} and {by_log}");
    Ok(())
}

/// The pool that refused the last request is refused by its model too, in the same room.
fn as_replayed(build: &Build, log: &Path) -> Result<()> {
    let mut replay = Command::new(build.whyoom());
    let output = replay.args(["replay", "--json", "--capacity", POOL]).arg(log).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Replay = from_slice(&output.stdout)?;
    let [run] = &told.runs[..] else { bail!("{} runs", told.runs.len()) };
    let own = run.rows.iter().find(|row| row.allocator == "rmm").context("no row of RMM's pool")?;
    println!("RMM's pool in {POOL}: {own:?}");
    ensure!(own.fits == Some(false), "the model of RMM's pool serves what RMM's pool did not");
    Ok(())
}

/// A long log.
pub(super) fn speed(build: &Build) -> Result<Held> {
    let log = scratch("imports")?.join("long.dev0.csv");
    let mut text = String::from("Thread,Time,Action,Pointer,Size,Stream\n");
    for line in 0..LINES {
        let (turn, action) = (line / 2, if line % 2 == 0 { "allocate" } else { "free" });
        let (time, place) = (line % 1_000_000, 0x7f00_0000_0000 + (turn % 1000) * 4096);
        writeln!(text, "41,10:00:00.{time:06},{action},{place:#x},4096,0x10040")?;
    }
    fs::write(&log, &text)?;
    let started = Instant::now();
    let told = Why::ask(build, &[&log])?;
    let seconds = started.elapsed().as_secs_f64();
    let made = of_gpu(&told, "rmm-log")?.blocks_made;
    ensure!(made == LINES / 2, "{made} allocations of {}", LINES / 2);
    ensure!(seconds < SECONDS, "{seconds:.1} s, and {SECONDS} are allowed");
    fs::remove_file(log)?;
    Ok(Held::new(format!("{LINES} lines ({} MB) in {seconds:.1} s", text.len() / 1_000_000)))
}
