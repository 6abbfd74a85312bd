//! What an event costs in each format, on the same run.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use harness::root;

use super::{consumers::Consumers, inputs::Input};

const DOCUMENT: &str = "docs/import-export.md";
const TABLE_START: &str = "<!-- table: cargo xtask exports --bless -->\n";
const TABLE_END: &str = "<!-- end of table -->";
const TABLE_HEAD: &str = "|---|---|---|\n";
/// A run is never quite like another: what the document says may be so far off.
const TOLERANCE: f64 = 0.1;

/// Each format with how its files end.
const FORMATS: &[(&str, &str)] = &[
    ("Parquet", "parquet"),
    ("Perfetto", "perfetto-trace"),
    ("pprof", "pb.gz"),
    ("PyTorch snapshot", "pickle"),
];

/// Prints the table and keeps it in the document; its figures in one line come back.
pub(super) fn measure(consumers: &Consumers, run: &Input, bless: bool) -> Result<String> {
    let events = consumers.duckdb(&consumers.export(run, "parquet")?)?.events;
    let mut sizes = vec![("recording", folder_size(&run.path)?)];
    for (name, ending) in FORMATS {
        sizes.push((name, consumers.export(run, ending)?.metadata()?.len()));
    }
    let mut table = format!("| {events} events | bytes | bytes per event |\n{TABLE_HEAD}");
    let mut line = Vec::new();
    for (name, bytes) in sizes {
        let each = bytes as f64 / events as f64;
        writeln!(table, "| {name} | {bytes} | {each:.2} |")?;
        line.push(format!("{name} {each:.2}"));
    }
    println!("{table}");
    keep(&table, bless)?;
    Ok(line.join(", "))
}

fn folder_size(folder: &Path) -> Result<u64> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

/// The document's table must be what was just found, as far as two runs are alike.
fn keep(table: &str, bless: bool) -> Result<()> {
    let path = root().join(DOCUMENT);
    let document = fs::read_to_string(&path).context(DOCUMENT)?;
    let (before, rest) = document.split_once(TABLE_START).context("no start of the table")?;
    let (old, behind) = rest.split_once(TABLE_END).context("no end of the table")?;
    if bless {
        let renewed = format!("{before}{TABLE_START}{table}{TABLE_END}{behind}");
        return Ok(fs::write(&path, renewed)?);
    }
    let (old, new) = (rows(old).context(DOCUMENT)?, rows(table)?);
    let close = |((was, old), (is, new)): (&Row<'_>, &Row<'_>)| {
        was == is && (old - new).abs() <= TOLERANCE * new.max(1.0)
    };
    let same = old.len() == new.len() && old.iter().zip(&new).all(close);
    ensure!(same, "{DOCUMENT} is out of date: cargo xtask exports --bless");
    Ok(())
}

/// What it is of, and its bytes per event.
type Row<'a> = (&'a str, f64);

/// The rows of a table. Perfetto's depends on how fast the program ran: a counter has so many points a
/// millisecond.
fn rows(table: &str) -> Result<Vec<Row<'_>>> {
    let (_, rows) = table.split_once(TABLE_HEAD).context("a table without a head")?;
    let rows = rows.lines().filter(|line| !line.starts_with("| Perfetto"));
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '|').map(str::trim).collect();
        let [_, name, _, each, _] = cells[..] else { bail!("{line}: not three cells") };
        Ok((name, each.parse().with_context(|| line.to_owned())?))
    };
    rows.map(row).collect()
}
