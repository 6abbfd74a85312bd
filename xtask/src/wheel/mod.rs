//! `cargo xtask wheel`: the wheel with the command, the recorder, the pool and the lab's libraries in
//! `dist/`, installed into a fresh environment and used there. `cargo xtask wheel all` is for those who
//! give it to others: also its tag, the Pythons that it says it runs on, its tests with PyTorch on the
//! simulated GPU, and `cargo install`.

mod build;
mod cargo_install;
mod contents;
mod fresh;
mod packaged;
mod python;
mod tag;

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use whyoom_trace::Bytes;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let all = arguments == ["all"];
    ensure!(all || arguments.is_empty(), "what is known is: all");
    let wheel = build::wheel()?;
    let files = contents::check(&wheel)?;
    let fresh = fresh::Environment::with(&wheel)?;
    fresh.use_everything()?;
    python::test_without_torch(&fresh)?;
    if all {
        tag::check(&wheel)?;
        python::read_as_the_oldest()?;
        python::test_on_others(&fresh)?;
        python::test_with_torch(&fresh)?;
        cargo_install::check()?;
    }
    fresh.uninstall()?;
    let size = Bytes(std::fs::metadata(&wheel)?.len());
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    println!(
        "wheel: {name}, {size}, {files} files, installed alone and used: a verdict, a simulated GPU, a \
         recording, the pool, Python"
    );
    Ok(())
}

/// What a command prints; its errors where it fails.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}{errors}");
    Ok(said)
}

/// A folder that is not there, so that something can be made in its place.
fn cleared(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}
