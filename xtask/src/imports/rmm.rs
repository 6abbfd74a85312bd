//! RMM's own log: RMM writes it in the lab, and the program says what is true of it.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{
    lab::Bench,
    tools::{environment, must_succeed, root, scratch, site_packages, why},
};

/// The simulated GPU.
const MEMORY: [&str; 2] = ["--memory", "2GiB"];
/// The room that the scenario's pool may have.
const POOL: &str = "768MiB";
/// Lines of the log that is timed, and the most seconds that they may take.
const LINES: u64 = 2_000_000;
const SECONDS: f64 = 10.0;

pub(super) fn run(bench: &Bench) -> Result<String> {
    let program = build()?;
    let folder = scratch("imports")?;
    let whyoom = bench.binaries.join("whyoom");
    let mut allocations = 0;
    for resource in ["cuda", "pool"] {
        let log = folder.join(format!("{resource}.dev0.csv"));
        let command = [program.as_os_str(), log.as_os_str(), resource.as_ref()];
        let truth = bench.run_with(&MEMORY, &command, &own_log(&folder))?.figures()?;
        let told = why(&whyoom, &[&log])?;
        println!("{resource}: {truth}");
        compare(&truth, &told).with_context(|| format!("the log over {resource}"))?;
        allocations += truth["allocations"].as_u64().unwrap_or_default();
    }
    as_recorded(bench, &whyoom, &program, &folder)?;
    as_replayed(&whyoom, &folder.join("pool.dev0.csv"))?;
    Ok(format!(
        "{allocations} allocations in two logs of RMM 24.12, both read to the byte; its pool fails in {POOL} as \
         its model does"
    ))
}

/// Where RMM writes of itself, beside the log of allocations: into the working folder where nobody says.
fn own_log(folder: &Path) -> [(String, String); 1] {
    [("RMM_DEBUG_LOG_FILE".to_owned(), folder.join("rmm_log.txt").display().to_string())]
}

fn build() -> Result<PathBuf> {
    let cuda = site_packages(&environment("cuda")?)?.join("nvidia/cu13");
    let rmm = site_packages(&environment("rmm")?)?.join("librmm");
    let folder = scratch("imports")?;
    let script = root().join("tests/scenarios/rmm/build.sh");
    must_succeed(Command::new("sh").arg(script).args([&folder, &cuda, &rmm]))?;
    Ok(folder.join("pipeline"))
}

fn compare(truth: &Value, told: &Value) -> Result<()> {
    let (totals, incident) = (&told["totals"][0], &told["incidents"][0]);
    ensure!(told["inputs"][0]["kind"] == "rmm-log", "taken for {}", told["inputs"][0]["kind"]);
    ensure!(
        told["inputs"][0]["notes"] == Value::Array(Vec::new()),
        "{}",
        told["inputs"][0]["notes"]
    );
    for (what, figure, expected) in [
        ("in use at the end", &totals["allocated_bytes"], &truth["bytes"]),
        ("in use at the failure", &incident["allocated_bytes"], &truth["bytes"]),
        ("asked for", &incident["requested_bytes"], &truth["asked"]),
        ("allocations", &totals["blocks_made"], &truth["allocations"]),
    ] {
        ensure!(figure == expected, "{what}: {figure}, and the program counted {expected}");
    }
    ensure!(incident["reserved_bytes"].is_null(), "the log does not tell what the pool held");
    Ok(())
}

/// Over CUDA's own memory the log and a recording of the driver's calls tell the same peak.
fn as_recorded(bench: &Bench, whyoom: &Path, program: &Path, folder: &Path) -> Result<()> {
    let (recording, log) = (folder.join("recording"), folder.join("recorded.csv"));
    let _ = fs::remove_dir_all(&recording);
    let run =
        [whyoom.as_os_str(), "run".as_ref(), "-o".as_ref(), recording.as_os_str(), "--".as_ref()];
    let command = [&run[..], &[program.as_os_str(), log.as_os_str(), "cuda".as_ref()]].concat();
    bench.run_with(&MEMORY, &command, &own_log(folder))?;
    let peak = |input: &Path| -> Result<Value> {
        Ok(why(whyoom, &[input])?["totals"][0]["peak_allocated_bytes"].clone())
    };
    let (by_driver, by_log) = (peak(&recording)?, peak(&log)?);
    println!("peak by the driver's calls {by_driver}, by the log {by_log}");
    ensure!(by_driver == by_log && by_log.is_u64(), "{by_driver} and {by_log}");
    Ok(())
}

/// The pool that refused the last request is refused by its model too, in the same room.
fn as_replayed(whyoom: &Path, log: &Path) -> Result<()> {
    let mut replay = Command::new(whyoom);
    let output = replay.args(["replay", "--json", "--capacity", POOL]).arg(log).output()?;
    let told: Value = serde_json::from_slice(&output.stdout).context("no JSON of whyoom replay")?;
    let rows = told["runs"][0]["rows"].as_array().context("no rows")?;
    let own = rows.iter().find(|row| row["allocator"] == "rmm").context("no row of RMM's pool")?;
    println!("RMM's pool in {POOL}: {own}");
    ensure!(own["fits"] == false, "the model of RMM's pool serves what RMM's pool did not");
    Ok(())
}

/// A long log.
pub(super) fn speed(bench: &Bench) -> Result<String> {
    let log = scratch("imports")?.join("long.dev0.csv");
    let mut text = String::from("Thread,Time,Action,Pointer,Size,Stream\n");
    for line in 0..LINES {
        let (turn, action) = (line / 2, if line % 2 == 0 { "allocate" } else { "free" });
        let (time, place) = (line % 1_000_000, 0x7f00_0000_0000 + (turn % 1000) * 4096);
        writeln!(text, "41,10:00:00.{time:06},{action},{place:#x},4096,0x10040")?;
    }
    fs::write(&log, &text)?;
    let started = Instant::now();
    let told = why(&bench.binaries.join("whyoom"), &[&log])?;
    let seconds = started.elapsed().as_secs_f64();
    ensure!(told["totals"][0]["blocks_made"] == LINES / 2, "{}", told["totals"]);
    ensure!(seconds < SECONDS, "{seconds:.1} s, and {SECONDS} are allowed");
    fs::remove_file(log)?;
    Ok(format!("{LINES} lines ({} MB) in {seconds:.1} s", text.len() / 1_000_000))
}
