//! The package's own tests (`python/tests`), against the installed wheel: alone, on every Python that is
//! here, and with PyTorch and Jupyter on the simulated GPU.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::{environment, root, scratch};

use super::{fresh, output::output};

/// The versions that the wheel says it runs on, by their minor number.
const VERSIONS: std::ops::RangeInclusive<u32> = 9..=14;
const OLDEST: &str = "3.9";

/// The tests in an environment with nothing but the wheel.
pub(super) fn test_without_torch(fresh: &fresh::Environment) -> Result<()> {
    let told = test(&mut fresh.python())?;
    println!("python alone: {told}");
    Ok(())
}

/// Nothing in the package needs a Python newer than the oldest that it is for.
pub(super) fn read_as_the_oldest() -> Result<()> {
    let vermin = environment("wheel")?.join("bin/vermin");
    let target = format!("-t={OLDEST}-");
    let mut command = Command::new(vermin);
    command.args(["--no-tips", "--violations", "--eval-annotations", &target]);
    let said = output(command.arg(root().join("python/whyoom")))?;
    let least = said.lines().find(|line| line.starts_with("Minimum required"));
    println!("vermin: {}", least.context("vermin says nothing")?.to_lowercase());
    Ok(())
}

/// The tests on every other Python that is on the path: which are, and which are not.
pub(super) fn test_on_others(fresh: &fresh::Environment) -> Result<String> {
    let installed = fresh.packages()?;
    let (mut tested, mut missing) = (Vec::new(), Vec::new());
    for minor in VERSIONS {
        let name = format!("python3.{minor}");
        let mut python = Command::new(&name);
        if output(python.args(["-c", "import unittest"])).is_err() {
            missing.push(name);
            continue;
        }
        let told = test(Command::new(&name).env("PYTHONPATH", &installed))?;
        println!("{name}: {told}");
        tested.push(name);
    }
    ensure!(!tested.is_empty(), "none of {} is here", missing.join(", "));
    let left_out = match &missing[..] {
        [] => String::new(),
        missing => format!(" (not here, read as {OLDEST} only: {})", missing.join(", ")),
    };
    Ok(tested.join(", ") + &left_out)
}

/// The tests with PyTorch, in notebooks too, on the simulated GPU; the notebook's page is kept.
pub(super) fn test_with_torch(fresh: &fresh::Environment) -> Result<()> {
    let python = environment("notebook")?.join("bin/python");
    let page = scratch("wheel")?.join("notebook.html");
    let mut lab = Command::new(fresh.whyoom());
    lab.args(["lab", "run", "--memory", "4GiB", "--"]).arg(python);
    lab.env("PYTHONPATH", fresh.packages()?).env("WHYOOM_NOTEBOOK_HTML", &page);
    let told = test(&mut lab)?;
    ensure!(
        !told.contains("skipped=") || told.contains("skipped=1)"),
        "too little was run: {told}"
    );
    println!("python with torch and Jupyter: {told}; the notebook: {}", page.display());
    Ok(())
}

/// Runs the tests with a Python; how many there were.
fn test(python: &mut Command) -> Result<String> {
    python.args(["-B", "-m", "unittest", "discover", "--start-directory", "python/tests"]);
    let ended = python.current_dir(root()).env_remove("WHYOOM_COMMAND").output()?;
    // What unittest tells it tells on standard error.
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{python:?}:\n{said}");
    let ran = said.lines().find(|line| line.starts_with("Ran ")).context("no test was run")?;
    ensure!(!ran.starts_with("Ran 0 "), "no test was run");
    let ending = said.lines().last().context("no ending")?;
    Ok(format!("{} {ending}", ran.to_lowercase()))
}
