//! Threads of the pool under checkers that choose their order, and what each sees of memory.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::{
    recorder::stage::Stage,
    tools::{root, scratch},
};

/// Seeds that Miri is given: each is another order, and another view of memory.
const SEEDS: &str = "-Zmiri-disable-isolation -Zmiri-many-seeds=0..8";

/// Whole programs on a made-up device, in orders that shuttle chooses.
pub(super) fn interleavings(_: &Stage) -> Result<String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "-p", "whyoom-pool", "--test", "interleavings"]);
    let passed = passed(cargo.env("RUSTFLAGS", "--cfg shuttle"), "shuttle")?;
    Ok(format!("{passed} programs of several threads, each in 2,000 orders, end right"))
}

/// The table that is read without a lock, under Miri.
pub(super) fn miri(_: &Stage) -> Result<String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["+nightly", "miri", "test", "-p", "whyoom-pool", "--lib", "--"]);
    cargo.args(["lanes", "captures"]).env("MIRIFLAGS", SEEDS);
    let passed = passed(&mut cargo, "miri")?;
    Ok(format!("{passed} tests of the lock-free table hold under Miri, with 8 seeds"))
}

/// Runs tests in a build folder of their own; how many passed.
fn passed(cargo: &mut Command, folder: &str) -> Result<u64> {
    let cargo = cargo.env("CARGO_TARGET_DIR", scratch(folder)?).current_dir(root());
    let output = cargo.output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let counts = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let passed = counts.filter_map(|line| line.split(' ').next()?.parse::<u64>().ok()).max();
    ensure!(passed > Some(0), "nothing was tested:\n{printed}");
    Ok(passed.unwrap_or_default())
}
