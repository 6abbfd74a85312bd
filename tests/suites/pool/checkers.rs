//! Threads of the pool under checkers that choose their order, and what each sees of memory.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::{Held, root, scratch};

/// Seeds that Miri is given: each is another order, and another view of memory.
const SEEDS: &str = "-Zmiri-disable-isolation -Zmiri-many-seeds=0..8";

/// Whole programs on a made-up device, in orders that shuttle chooses.
pub(super) fn interleavings() -> Result<Held> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "-p", "whyoom-pool", "--test", "interleavings"]);
    let passed = passed(cargo.env("RUSTFLAGS", "--cfg shuttle"), "shuttle")?;
    let said = format!("{passed} programs of several threads, each in 2,000 orders, end right");
    Ok(Held::new(said).count("programs", passed))
}

/// The table that is read without a lock, under Miri.
pub(super) fn miri() -> Result<Held> {
    let mut cargo = Command::new("cargo");
    cargo.args(["+nightly", "miri", "test", "-p", "whyoom-pool", "--lib", "--"]);
    cargo.args(["lanes", "captures"]).env("MIRIFLAGS", SEEDS);
    let passed = passed(&mut cargo, "miri")?;
    let said = format!("{passed} tests of the lock-free table hold under Miri, with 8 seeds");
    Ok(Held::new(said).count("tests", passed))
}

/// Runs tests in a build folder of their own; how many passed, in the run that had the most.
fn passed(cargo: &mut Command, folder: &str) -> Result<u64> {
    let cargo = cargo.env("CARGO_TARGET_DIR", scratch(folder)?).current_dir(root());
    let output = cargo.output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let results = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let counts = results.map(|line| Ok(line.split(' ').next().context("no count")?.parse()?));
    let counts = counts.collect::<Result<Vec<u64>>>()?;
    let passed = counts.into_iter().max().filter(|passed| *passed > 0);
    passed.with_context(|| format!("nothing was tested:\n{printed}"))
}
