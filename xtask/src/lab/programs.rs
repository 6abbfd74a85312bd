//! The CUDA C programs: built by the real compiler, each says whether it reached its state.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::bench::Bench;
use crate::tools::{environment, must_succeed, root, scratch, site_packages};

/// The kernel that the lab is told to let exhaust the device heap, since it computes nothing.
const EFFECTS: &[(&str, &str)] = &[("program07", "allocate_in_kernel=heap-exhausted")];

/// The compiled programs of `tests/scenarios/cuda`.
pub(crate) fn build() -> Result<std::path::PathBuf> {
    let cuda = site_packages(&environment("cuda")?)?.join("nvidia/cu13");
    let programs = scratch("lab-programs")?;
    let script = root().join("tests/scenarios/cuda/build.sh");
    must_succeed(Command::new("sh").arg(script).arg(&programs).arg(cuda))?;
    Ok(programs)
}

pub(super) fn run(bench: &Bench) -> Result<String> {
    let folder = build()?;
    let mut count = 0;
    let mut sources: Vec<_> = std::fs::read_dir(root().join("tests/scenarios/cuda"))?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".cu").map(str::to_owned))
        .filter(|name| name.starts_with("program"))
        .collect();
    sources.sort();
    for name in &sources {
        let mut flags = vec!["--memory", "2GiB"];
        let effect = EFFECTS.iter().find(|(program, _)| program == name);
        flags.extend(effect.iter().flat_map(|(_, effect)| ["--kernel", *effect]));
        let outcome = bench.run(&flags, &[folder.join(name)])?;
        let figures = outcome.figures().with_context(|| name.clone())?;
        ensure!(figures["holds"] == true, "{name}: {figures}");
        println!("{name}  {}", figures["cause"].as_str().unwrap_or_default());
        count += 1;
    }
    let end = given_back(bench, &folder)?;
    Ok(format!("{count} CUDA programs reach the state that is true of them; {end}"))
}

/// A program that leaks ends, and the next finds all memory free.
fn given_back(bench: &Bench, folder: &std::path::Path) -> Result<String> {
    let both = "\"$0\"/program10; \"$0\"/program01";
    let command = ["sh", "-c", both, &folder.display().to_string()].map(str::to_owned);
    let outcome = bench.run(&["--memory", "2GiB"], &command)?;
    let free: Vec<_> = outcome
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|figures| figures["free_at_start"].clone())
        .collect();
    ensure!(free.len() == 2 && free[0] == free[1], "memory came back otherwise: {free:?}");
    Ok("what they leaked was given back when they ended".to_owned())
}
