//! Hooks that no program here calls, each called by its name over a driver that refuses everything.

use std::{fmt::Write, fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Build, empty_folder, must_succeed};

use super::programs_in_c::program;

/// What the driver answers: `CUDA_ERROR_INVALID_VALUE`.
const REFUSAL: i32 = 1;

/// A panic in the hook of each name: the caller gets the driver's answer, and one line is said.
pub(super) fn panic_at_each(names: &[String]) -> Result<()> {
    let driver = empty_folder("recorder/refusing-driver")?;
    build_driver(&driver, names)?;
    for name in names {
        panic_at(&driver, name).with_context(|| format!("a panic in {name}"))?;
    }
    Ok(())
}

fn panic_at(driver: &Path, name: &str) -> Result<()> {
    let recording = empty_folder("recorder/by-name")?;
    let output = Command::new(program("by_name")?)
        .arg(name)
        .env("LD_LIBRARY_PATH", driver)
        .env("LD_PRELOAD", Build::ready()?.recorder())
        .env("WHYOOM_RECORDING", &recording)
        .env("WHYOOM_RECORDER_FAULT", name)
        .output()?;
    let (answered, said) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{}: {said}", output.status);
    ensure!(answered.trim() == REFUSAL.to_string(), "the program got {answered}");
    ensure!(said.lines().count() == 1 && said.starts_with("whyoom: "), "it said {said:?}");
    Ok(())
}

/// A driver that has these functions and refuses each.
fn build_driver(folder: &Path, names: &[String]) -> Result<()> {
    let mut functions = String::new();
    for name in names {
        writeln!(functions, "int {name}(void) {{ return {REFUSAL}; }}")?;
    }
    let source = folder.join("driver.c");
    fs::write(&source, functions)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"]);
    must_succeed(compiler.arg(folder.join("libcuda.so.1")).arg(source))
}
