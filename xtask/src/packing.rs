//! `cargo xtask packing`: the offline planner on problems whose answers are known.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use whyoom_allocators::planner::{Item, THOROUGH, check, max_load, pack};

use crate::tools::{shared_data, skipped};

/// MiniMalloc's problems, and what each is known to fit into: the number in its files' names
/// (benchmarks/challenging/A.1048576.csv and so on).
const MINIMALLOC: &str = "minimalloc-";
const CAPACITY: u64 = 1_048_576;

/// The bars: what was measured when they were set, the second rounded up from 1.0076. The planner
/// counts steps, not seconds, so that neither depends on the machine.
const SOLVED: usize = 11;
const WORST_RATIO: f64 = 1.01;

struct Row {
    name: String,
    load: u64,
    height: u64,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.height as f64 / self.load.max(1) as f64
    }

    fn has_capacity(&self) -> bool {
        self.name.starts_with(MINIMALLOC)
    }
}

pub(crate) fn run(_: &[String]) -> Result<()> {
    let Some(data) = shared_data() else {
        skipped("packing problems");
        return Ok(());
    };
    println!(
        "{:<18} {:>6} {:>14} {:>14} {:>8} {:>8}",
        "problem", "items", "max load", "height", "ratio", "seconds"
    );
    let rows: Vec<Row> = problems(&data)?.iter().map(|file| solve(file)).collect::<Result<_>>()?;
    let (known, open): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.has_capacity());
    let solved = known.iter().filter(|row| row.height <= CAPACITY).count();
    let at_load = known.iter().filter(|row| row.height == row.load).count();
    let worst = open.iter().map(|row| row.ratio()).fold(1.0, f64::max);
    ensure!(known.len() == SOLVED && !open.is_empty(), "{} problems are there", rows.len());
    ensure!(solved >= SOLVED, "{solved} of {} solved at their capacity", known.len());
    ensure!(worst <= WORST_RATIO, "{worst:.4} times the max load");
    println!(
        "packing: {solved} of {} solved at their capacity, {at_load} at the max load; the other {} \
         within {worst:.4} of the max load",
        known.len(),
        open.len()
    );
    Ok(())
}

fn problems(data: &Path) -> Result<Vec<PathBuf>> {
    let folder = data.join("packing");
    let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.sort();
    Ok(files)
}

fn solve(file: &Path) -> Result<Row> {
    let items = read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let started = Instant::now();
    let packing = pack(&items, THOROUGH);
    let seconds = started.elapsed().as_secs_f64();
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    check(&items, &packing).with_context(|| name.clone())?;
    let row = Row { name, load: max_load(&items), height: packing.height };
    ensure!(row.height >= row.load, "{} is lower than its load", row.name);
    println!(
        "{:<18} {:>6} {:>14} {:>14} {:>8.4} {seconds:>8.2}",
        row.name,
        items.len(),
        row.load,
        row.height,
        row.ratio()
    );
    Ok(row)
}

/// A table with the columns `id,lower,upper,size`, in which the upper end is exclusive.
fn read(file: &Path) -> Result<Vec<Item>> {
    let text = std::fs::read_to_string(file)?;
    let mut lines = text.lines();
    ensure!(lines.next() == Some("id,lower,upper,size"), "other columns were expected");
    let item = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, lower, upper, size] = fields[..] else { bail!("not four columns: {line}") };
        Ok(Item::new(lower.parse()?, upper.parse()?, size.parse()?))
    };
    lines.map(item).collect()
}
