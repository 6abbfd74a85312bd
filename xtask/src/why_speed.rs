//! `cargo xtask why-speed`: `whyoom why` from start to end against Python's `pickle.load`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, scratch, shared_data};
use serde::Deserialize;
use whyoom_trace::Bytes;

use crate::tools::{file_name, python, silent_python};

const ENTRIES: &str = "1000000";

/// What `why_speed.py` prints: medians in seconds, and peaks of resident memory.
#[derive(Deserialize)]
struct Figures {
    bytes: u64,
    why_seconds: f64,
    load_seconds: f64,
    why_resident: u64,
    load_resident: u64,
}

pub(crate) fn run() -> Result<Held> {
    let whyoom = Build::ready()?.whyoom();
    let mut files = vec![largest(&shared_data()?.join("torch-snapshots"))?];
    let million = scratch("why-speed")?.join("million.pickle");
    if !million.exists() {
        silent_python("generate_snapshot.py", &[Path::new(ENTRIES), &million])?;
    }
    files.push(million);

    println!(
        "{:<34} {:>10} {:>10} {:>12} {:>7} {:>12} {:>12}",
        "file", "size", "why", "pickle.load", "ratio", "why peak", "load peak"
    );
    let mut ratios = Vec::new();
    for file in &files {
        let figures: Figures = python("why_speed.py", &[&whyoom, file])?;
        let ratio = figures.load_seconds / figures.why_seconds;
        ensure!(ratio.is_finite(), "nothing was measured");
        println!(
            "{:<34} {:>10} {:>8.3} s {:>10.3} s {ratio:>6.2}x {:>12} {:>12}",
            file_name(file),
            Bytes(figures.bytes),
            figures.why_seconds,
            figures.load_seconds,
            Bytes(figures.why_resident),
            Bytes(figures.load_resident),
        );
        ratios.push(ratio);
    }
    let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}x")).collect();
    ensure!(ratios.iter().all(|ratio| *ratio > 1.0), "{}: not faster on all", shown.join(", "));
    Ok(Held::new(format!("{} as fast as pickle.load", shown.join(" and "))))
}

fn largest(folder: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let sized = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.metadata().ok()?.len(), entry.path()))
    });
    sized.max().map(|(_, path)| path).context("no snapshots")
}
