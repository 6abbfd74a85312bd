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

use anyhow::{Context, Result, ensure};
use harness::{Held, documents::Why, from_str, root};
use whyoom_trace::Bytes;

use crate::tools::file_name;

pub(crate) fn run(all: bool) -> Result<Held> {
    let wheel = build::wheel()?;
    let files = contents::check(&wheel)?;
    let fresh = fresh::Environment::with(&wheel)?;
    fresh.use_everything()?;
    python::test_without_torch(&fresh)?;
    let mut others = String::new();
    if all {
        tag::check(&wheel)?;
        python::read_as_the_oldest()?;
        others = format!("; its tests on {}", python::test_on_others(&fresh)?);
        python::test_with_torch(&fresh)?;
        cargo_install::check()?;
    }
    fresh.uninstall()?;
    let (name, size) = (file_name(&wheel), Bytes(wheel.metadata()?.len()));
    Ok(Held::new(format!(
        "{name}, {size}, {files} files, installed alone and used: a verdict, a simulated GPU, a recording, the \
         pool, Python{others}"
    )))
}

/// What a command prints; its errors where it fails.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}{errors}");
    Ok(said)
}

/// What an installed command says of a file of this kind.
fn verdict(whyoom: &Path, file: &Path, kind: &str) -> Result<Why> {
    let mut command = Command::new(whyoom);
    command.args(["why", "--json"]).arg(file).current_dir(root()).env_clear();
    let told: Why = from_str(&output(&mut command)?)?;
    let is_read = matches!(&told.inputs[..], [input] if input.kind == kind);
    ensure!(is_read, "not read as {kind}: {:?}", told.inputs);
    Ok(told)
}
