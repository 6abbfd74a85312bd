//! `cargo xtask snapshots`: every real snapshot imports, and its totals are the file's own.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use anyhow::{Context, Result, bail, ensure};
use harness::{
    Build, Held,
    documents::{Device, Totals, Why},
    root, scratch, shared_data, snapshots,
};
use serde::Deserialize;
use whyoom_trace::Bytes;

use crate::tools::{file_name, python, silent_python};

const DOCUMENT: &str = "docs/dev/evidence/snapshots.md";
const TABLE_START: &str = "<!-- table: cargo xtask snapshots --bless -->";
const TABLE_END: &str = "<!-- end of table -->";

/// What Python sums of a file's own numbers, for one device.
#[derive(Debug, PartialEq, Deserialize)]
struct Sums {
    reserved_bytes: u64,
    allocated_bytes: u64,
    active_bytes: u64,
    requested_bytes: u64,
    active_blocks: u64,
    segments: u64,
}

impl From<&Totals> for Sums {
    fn from(totals: &Totals) -> Self {
        Self {
            reserved_bytes: totals.reserved_bytes,
            allocated_bytes: totals.allocated_bytes,
            active_bytes: totals.active_bytes,
            requested_bytes: totals.requested_bytes,
            active_blocks: totals.active_blocks,
            segments: totals.segments,
        }
    }
}

pub(crate) fn run(bless: bool) -> Result<Held> {
    let build = Build::ready()?;
    let fixtures = snapshots(&root().join("tests/fixtures/snapshots"))?;
    let mut problems = Vec::new();
    for file in &fixtures {
        check(build, file, &mut problems)?;
    }
    println!("{} fixtures checked", fixtures.len());
    let cut = scratch("snapshots")?.join("cut.pickle");
    let mut table = String::from("| file | verdict | why |\n|---|---|---|\n");
    let real = snapshots(&shared_data()?.join("torch-snapshots"))?;
    for file in &real {
        let answer = check(build, file, &mut problems)?;
        let (name, verdict) = (file_name(file), &answer.verdict);
        let totals = answer.totals.first().context("no totals")?;
        let peak = Bytes(totals.peak_allocated_bytes);
        println!("{name:<56} {:<10} peak {peak:>10}", verdict.cause);
        // The state at the start of a ring must lead to the same end from wherever it starts.
        silent_python("cut_snapshot.py", &[file, &cut])?;
        check(build, &cut, &mut problems).with_context(|| format!("{name} cut in half"))?;
        let (cause, headline, because) = (&verdict.cause, &verdict.headline, &verdict.because);
        writeln!(table, "| {name} | {cause} | {headline}. {because} |")?;
    }
    keep_document(&table, bless, &mut problems)?;
    if !problems.is_empty() {
        bail!("{}", problems.join("; "));
    }
    Ok(Held::new(format!(
        "{} real files (whole and cut in half) and {} made ones, 6 totals each equal to Python's own sums",
        real.len(),
        fixtures.len()
    )))
}

/// Compares whyoom's totals with the sums that Python makes of the file's own numbers.
fn check(build: &Build, file: &Path, problems: &mut Vec<String>) -> Result<Why> {
    let name = file_name(file);
    let answer = Why::ask(build, &[file]).with_context(|| name.clone())?;
    let expected: BTreeMap<String, Sums> = python("snapshot_totals.py", &[file])?;
    ensure!(!expected.is_empty(), "{name}: Python sums nothing");
    for (device, sums) in &expected {
        let is_it = |totals: &&Totals| match &totals.device {
            Device::Ordinal(ordinal) => ordinal.to_string() == *device,
            Device::Host(host) => host == device,
            Device::Unknown(()) => false,
        };
        match answer.totals.iter().find(is_it).map(Sums::from) {
            None => problems.push(format!("{name}: device {device} is missing")),
            Some(own) if own != *sums => {
                problems
                    .push(format!("{name}: device {device}: {own:?}, the file's own: {sums:?}"));
            }
            Some(_) => {}
        }
    }
    for note in answer.inputs.iter().flat_map(|input| &input.notes) {
        problems.push(format!("{name}: {note}"));
    }
    Ok(answer)
}

/// The document's table must be what was just found.
fn keep_document(table: &str, bless: bool, problems: &mut Vec<String>) -> Result<()> {
    let path = root().join(DOCUMENT);
    let document = std::fs::read_to_string(&path).with_context(|| DOCUMENT)?;
    let (before, rest) = document.split_once(TABLE_START).context("no start of the table")?;
    let (_, behind) = rest.split_once(TABLE_END).context("no end of the table")?;
    let renewed = format!("{before}{TABLE_START}\n{table}{TABLE_END}{behind}");
    if bless {
        std::fs::write(&path, renewed)?;
    } else if renewed != document {
        problems.push(format!("{DOCUMENT} is out of date: cargo xtask snapshots --bless"));
    }
    Ok(())
}
