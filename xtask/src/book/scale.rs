//! Part `scale`: what the page on scale counts with, measured.

use std::{fmt::Write, fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use whyoom_recording::Recording;

use super::{Desk, page::docs};
use crate::{
    lab::Bench,
    tools::{environment, number, python, root, scratch, shared_data, skipped},
};

const PAGE: &str = "scale.md";
const STARTS: &str = "<!-- table: cargo xtask book scale --bless -->\n";
const ENDS: &str = "<!-- end of table -->\n";

/// Where a file of a recording says how much of it was written.
const COMMITTED: usize = 64;

/// What the page says holds while bytes an event stay within this factor.
const CLOSE: f64 = 1.3;

/// Programs, what they stand for, and the GPU they run on.
const RUNS: &[(&str, &str, &str)] = &[
    ("docs/questions/programs/chat.py", "serving, ends for want of memory", "2750MiB"),
    (
        "docs/questions/programs/validate.py",
        "a loop that keeps, ends for want of memory",
        "1536MiB",
    ),
    ("docs/questions/programs/finetune.py", "training, ends for want of memory", "6GiB"),
    ("tests/scenarios/torch/transformer.py", "training, ends well", "8GiB"),
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

pub(super) fn run(desk: &Desk) -> Result<String> {
    let bench = Bench::prepare()?;
    let runs = RUNS.iter().map(|run| measured(&bench, run)).collect::<Result<Vec<_>>>()?;
    let table = table(&runs)?;
    print!("{table}");
    real_rates()?;
    let bytes = |run: &Measured| (run.event_bytes + run.table_bytes) as f64 / run.events as f64;
    let most =
        runs.iter().map(|run| run.event_bytes as f64 / run.events as f64).fold(0.0, f64::max);
    keep(&table, &runs.iter().map(bytes).collect::<Vec<_>>(), desk.bless)?;
    let incident = runs.iter().map(|run| run.incident_bytes).max().unwrap_or(0);
    Ok(format!("at most {most:.1} bytes an event without tables, {incident} bytes an incident"))
}

fn measured(
    bench: &Bench,
    (program, what, memory): &(&str, &'static str, &str),
) -> Result<Measured> {
    let folder = scratch("book")?.join("scale");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let words = [
        bench.binaries.join("whyoom"),
        "run".into(),
        "-o".into(),
        folder.clone(),
        "--".into(),
        environment("torch")?.join("bin/python"),
        root().join(program),
        "20000".into(),
    ];
    let takes_samples = program.ends_with("validate.py");
    let words = &words[..words.len() - usize::from(!takes_samples)];
    bench.run(&["--gpu", "rtx-4090", "--memory", memory], words)?;
    let recording = Recording::open(&folder).with_context(|| (*program).to_owned())?;
    let verdict = Command::new(bench.binaries.join("whyoom"))
        .args(["why", "--json"])
        .arg(&folder)
        .output()?;
    ensure!(verdict.status.success(), "{program}: no verdict");
    Ok(Measured {
        what,
        events: recording.parts().iter().map(|part| part.events).sum(),
        event_bytes: sum(&folder, "events", committed)?,
        table_bytes: sum(&folder, "tables", committed)? + sum(&folder, "part", length)?,
        incident_bytes: sum(&folder, "jsonl", length)? + verdict.stdout.len() as u64,
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
    let mut table = "| run | events | bytes an event | its stacks and names | both, an event | an incident |\n|---|---:|---:|---:|---:|---:|\n".to_owned();
    for run in runs {
        let of_events = |bytes: u64| bytes as f64 / run.events as f64;
        writeln!(
            table,
            "| {} | {} | {:.1} B | {:.0} KiB | {:.1} B | {:.1} KiB |",
            run.what,
            run.events,
            of_events(run.event_bytes),
            run.table_bytes as f64 / 1024.0,
            of_events(run.event_bytes + run.table_bytes),
            run.incident_bytes as f64 / 1024.0
        )?;
    }
    Ok(table)
}

/// How often real GPUs' programs allocate, from the times in their own histories.
fn real_rates() -> Result<()> {
    let Some(shared) = shared_data() else {
        skipped("rates of programs on real GPUs");
        return Ok(());
    };
    let told = python("snapshot_rates.py", &[&shared.join("torch-snapshots")])?;
    let files = told.as_object().context("no rates")?;
    let mut rates: Vec<f64> =
        files.values().map(|told| number(&told[0]) / number(&told[1])).collect();
    rates.sort_by(f64::total_cmp);
    println!(
        "{} histories from real GPUs: {:.0} to {:.0} entries a second, median {:.0}",
        rates.len(),
        rates.first().context("no rates")?,
        rates.last().context("no rates")?,
        rates[rates.len() / 2]
    );
    Ok(())
}

/// Sees that the page's table has about the same bytes an event, or writes it.
fn keep(table: &str, now: &[f64], bless: bool) -> Result<()> {
    let path = docs().join(PAGE);
    let page = fs::read_to_string(&path)?;
    let (before, rest) = page.split_once(STARTS).context("docs/scale.md has no table")?;
    let (kept, behind) = rest.split_once(ENDS).context("docs/scale.md: its table does not end")?;
    let told = |line: &str| line.split('|').nth(5)?.trim().strip_suffix(" B")?.parse().ok();
    let kept: Vec<f64> = kept.lines().filter_map(told).collect();
    let is_close = |(kept, now): (&f64, &f64)| kept / now < CLOSE && now / kept < CLOSE;
    if kept.len() == now.len() && kept.iter().zip(now).all(is_close) {
        return Ok(());
    }
    ensure!(
        bless,
        "docs/scale.md is out of date: cargo xtask book scale --bless: {kept:?}, now {now:?}"
    );
    Ok(fs::write(&path, format!("{before}{STARTS}{table}{ENDS}{behind}"))?)
}
