//! `cargo xtask why-speed`: `whyoom why` from start to end against Python's `pickle.load`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use whyoom_trace::Bytes;

use crate::tools::{number, python, scratch, shared_data, skipped, whyoom};

const ENTRIES: &str = "1000000";

pub(crate) fn run(_: &[String]) -> Result<()> {
    let whyoom = whyoom()?;
    let mut files = Vec::new();
    match shared_data() {
        Some(shared) => files.push(largest(&shared.join("torch-snapshots"))?),
        None => skipped("the largest real snapshot"),
    }
    let million = scratch("why-speed")?.join("million.pickle");
    if !million.exists() {
        python("generate_snapshot.py", &[Path::new(ENTRIES), &million])?;
    }
    files.push(million);

    println!(
        "{:<34} {:>10} {:>10} {:>12} {:>7} {:>12} {:>12}",
        "file", "size", "why", "pickle.load", "ratio", "why peak", "load peak"
    );
    let mut ratios = Vec::new();
    for file in &files {
        let figures = python("why_speed.py", &[&whyoom, file])?;
        let at = |key: &str| number(&figures[key]);
        let ratio = at("load_seconds") / at("why_seconds");
        println!(
            "{:<34} {:>10} {:>8.3} s {:>10.3} s {ratio:>6.2}x {:>12} {:>12}",
            file.file_name().unwrap_or_default().to_string_lossy(),
            Bytes(at("bytes") as u64),
            at("why_seconds"),
            at("load_seconds"),
            Bytes(at("why_resident") as u64),
            Bytes(at("load_resident") as u64),
        );
        ratios.push(ratio);
    }
    let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}x")).collect();
    ensure!(ratios.iter().all(|ratio| *ratio > 1.0), "{}: not faster on all", shown.join(", "));
    println!("why-speed: {} as fast as pickle.load", shown.join(" and "));
    Ok(())
}

fn largest(folder: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let sized = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.metadata().ok()?.len(), entry.path()))
    });
    sized.max().map(|(_, path)| path).context("no snapshots")
}
