//! Part `scale`: what the page on scale counts with, measured.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path, process::Command};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Held, Trial, python, root, shared_data, text};
use whyoom_recording::Recording;

use super::{Wish, page::docs};
use crate::tools;

const PAGE: &str = "dev/scale.md";
const STARTS: &str = "<!-- table: cargo xtask book scale --bless -->\n";
const ENDS: &str = "<!-- end of table -->\n";

/// Where a file of a recording says how much of it was written.
const COMMITTED: usize = 64;

/// What the page says holds while bytes per event stay within this factor.
const CLOSE: f64 = 1.3;

/// Programs, what they stand for, and the GPU they run on.
const RUNS: &[(&str, &str, &str)] = &[
    ("docs/questions/programs/chat.py", "serving, runs out of memory", "2750MiB"),
    ("docs/questions/programs/validate.py", "leaking loop, runs out of memory", "1536MiB"),
    ("docs/questions/programs/finetune.py", "training, runs out of memory", "6GiB"),
    ("tests/scenarios/torch/transformer.py", "training, completes", "8GiB"),
];

/// One recorded run, measured.
struct Measured {
    what: &'static str,
    events: u64,
    event_bytes: u64,
    table_bytes: u64,
    /// What `whyoom run` saw of the machine at failures, and the verdict with all its evidence.
    incident_bytes: u64,
}

impl Measured {
    /// So many bytes for each event.
    fn each(&self, bytes: u64) -> f64 {
        bytes as f64 / self.events as f64
    }
}

pub(super) fn run(wish: &Wish) -> Result<Held> {
    let runs = RUNS.iter().map(measured).collect::<Result<Vec<_>>>()?;
    let table = table(&runs)?;
    print!("{table}");
    let both = |run: &Measured| run.each(run.event_bytes + run.table_bytes);
    keep(&table, &runs.iter().map(both).collect::<Vec<_>>(), wish.bless)?;
    let most = runs.iter().map(|run| run.each(run.event_bytes)).max_by(f64::total_cmp);
    let incident = runs.iter().map(|run| run.incident_bytes).max();
    let (most, incident) = most.zip(incident).context("no runs")?;
    Ok(Held::new(format!(
        "at most {most:.1} bytes per event without tables, {incident} bytes an incident"
    )))
}

fn measured((program, what, memory): &(&str, &'static str, &str)) -> Result<Measured> {
    let mut command = vec![python()?, text(&root().join(program))];
    if program.ends_with("validate.py") {
        command.push("20000".to_owned());
    }
    let trial = Trial::on(&["--gpu", "rtx-4090", "--memory", memory], &command);
    let recorded = trial.recorded("book-scale")?;
    let (status, folder) = (recorded.ran.status, &recorded.folder);
    ensure!((status == 0) == what.ends_with("completes"), "{program} ended with {status}");
    let recording = Recording::open(folder).with_context(|| (*program).to_owned())?;
    let events = recording.parts().iter().map(|part| part.events).sum();
    ensure!(events > 0, "{program}: no events");
    let mut why = Command::new(Build::ready()?.whyoom());
    let verdict = why.args(["why", "--json"]).arg(folder).output()?;
    ensure!(verdict.status.success(), "{program}: no verdict");
    Ok(Measured {
        what,
        events,
        event_bytes: sum(folder, "events", committed)?,
        table_bytes: sum(folder, "tables", committed)? + sum(folder, "part", length)?,
        incident_bytes: sum(folder, "jsonl", length)? + verdict.stdout.len() as u64,
    })
}

/// The sum over a folder's files with that ending.
fn sum(folder: &Path, ending: &str, bytes: fn(&Path) -> Result<u64>) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == ending) {
            sum += bytes(&path)?;
        }
    }
    Ok(sum)
}

fn length(path: &Path) -> Result<u64> {
    Ok(path.metadata()?.len())
}

/// What was written to a file of a recording: one whose process ended at once is longer.
fn committed(path: &Path) -> Result<u64> {
    let bytes = fs::read(path)?;
    let told = bytes.get(COMMITTED..COMMITTED + 8).context("a file without a header")?;
    Ok(u64::from_le_bytes(told.try_into()?))
}

fn table(runs: &[Measured]) -> Result<String> {
    let mut table = "| run | events | bytes per event | stacks and names | bytes per event, total | incident |\n|---|---:|---:|---:|---:|---:|\n".to_owned();
    for run in runs {
        writeln!(
            table,
            "| {} | {} | {:.1} B | {:.0} KiB | {:.1} B | {:.1} KiB |",
            run.what,
            run.events,
            run.each(run.event_bytes),
            run.table_bytes as f64 / 1024.0,
            run.each(run.event_bytes + run.table_bytes),
            run.incident_bytes as f64 / 1024.0
        )?;
    }
    Ok(table)
}

/// Part `rates`: how often real GPUs' programs allocate, from the times in their own histories.
pub(super) fn rates() -> Result<Held> {
    let folder = shared_data()?.join("torch-snapshots");
    // Of each file its entries, and the seconds between the first and the last.
    let files: BTreeMap<String, (u64, f64)> = tools::python("snapshot_rates.py", &[&folder])?;
    ensure!(files.values().all(|(_, seconds)| *seconds > 0.0), "a history of no length: {files:?}");
    let mut rates: Vec<f64> =
        files.values().map(|(count, seconds)| *count as f64 / seconds).collect();
    rates.sort_by(f64::total_cmp);
    let ([least, ..], [.., most]) = (&rates[..], &rates[..]) else { bail!("no histories") };
    let median = rates[rates.len() / 2];
    Ok(Held::new(format!(
        "{} histories from real GPUs: {least:.0} to {most:.0} entries a second, median {median:.0}",
        rates.len()
    )))
}

/// Sees that the page's table has about the same bytes per event, or writes it.
fn keep(table: &str, now: &[f64], bless: bool) -> Result<()> {
    let path = docs().join(PAGE);
    let page = fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(STARTS).context("docs/dev/scale.md has no table")?;
    let (kept, behind) =
        rest.split_once(ENDS).context("docs/dev/scale.md: its table does not end")?;
    let told = |line: &str| line.split('|').nth(5)?.trim().strip_suffix(" B")?.parse().ok();
    let kept: Vec<f64> = kept.lines().filter_map(told).collect();
    let is_close = |(kept, now): (&f64, &f64)| kept / now < CLOSE && now / kept < CLOSE;
    if kept.len() == now.len() && kept.iter().zip(now).all(is_close) {
        return Ok(());
    }
    ensure!(
        bless,
        "docs/dev/scale.md is out of date: cargo xtask book scale --bless: {kept:?}, now {now:?}"
    );
    Ok(fs::write(&path, format!("{before}{STARTS}{table}{ENDS}{behind}"))?)
}
