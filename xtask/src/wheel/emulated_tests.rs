//! The tests of all crates, built for another processor and run in an emulator.

use anyhow::{Context, Result, ensure};
use harness::{Architecture, root, zig_variables};

use super::system::System;

/// Tests that the emulator cannot run, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[];

/// Runs them: how many, and how many were left out.
pub(super) fn run(architecture: Architecture) -> Result<String> {
    let left_out: Vec<String> =
        LEFT_OUT.iter().map(|(filter, _)| format!("not ({filter})")).collect();
    let mut nextest = System::emulated(architecture)?.command(env!("CARGO"));
    nextest.args([
        "nextest",
        "run",
        "--workspace",
        "--exclude",
        "xtask",
        "--exclude",
        "whyoom-tests",
    ]);
    nextest.args(["--locked", "--no-fail-fast", "--cargo-quiet", "--status-level", "fail"]);
    nextest.args(["--target", &architecture.triple()]).envs(zig_variables(architecture)?);
    if !left_out.is_empty() {
        nextest.args(["-E", &left_out.join(" and ")]);
    }
    let ended = nextest.current_dir(root()).output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{said}");
    let summary =
        said.lines().find_map(|line| line.split_once("] ").filter(|_| line.contains("Summary [")));
    let (_, summary) = summary.context("nextest has no summary")?;
    println!("{}, emulated: {}", architecture.name(), summary.trim());
    Ok(format!("{} on {}", summary.trim(), architecture.name()))
}
