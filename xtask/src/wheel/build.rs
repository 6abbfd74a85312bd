//! The wheel, and what lies in it beside the package and the command.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{cleared, output, packaged};
use crate::tools::{binaries_given, environment, must_succeed, release_build, root};

/// Builds everything and packs it: the path of the wheel.
pub(super) fn wheel() -> Result<PathBuf> {
    stage(&release_build()?, &root().join("python/whyoom.data/data"))?;
    pack()
}

/// Puts what is not Python where maturin finds it.
fn stage(built: &Path, staged: &Path) -> Result<()> {
    let libraries: Vec<_> = packaged::libraries().collect();
    copy(built, &staged.join("lib/whyoom"), &libraries)?;
    copy(&root().join(packaged::HEADERS_FOLDER), &staged.join("include"), &packaged::HEADERS)?;
    let (whyoom, share) = (built.join("whyoom"), staged.join("share"));
    cleared(&share)?;
    for (path, words) in packaged::generated(&whyoom)? {
        let path = share.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(&share))?;
        std::fs::write(path, output(Command::new(&whyoom).args(&words))?)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, files: &[&str]) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for file in files {
        std::fs::copy(from.join(file), to.join(file))
            .with_context(|| format!("cannot copy {file}"))?;
    }
    Ok(())
}

fn pack() -> Result<PathBuf> {
    let dist = root().join("dist");
    cleared(&dist)?;
    let maturin = environment("maturin")?.join("bin/maturin");
    let mut command = Command::new(maturin);
    command.args(["build", "--quiet", "--locked", "--out"]).arg(&dist);
    // For work on these commands, the command comes from a quick build as the rest does.
    if !binaries_given() {
        command.arg("--release");
    }
    must_succeed(command.current_dir(root().join("python")))?;
    let mut wheels = std::fs::read_dir(&dist)?.flatten().map(|entry| entry.path());
    wheels.find(|path| path.extension().is_some_and(|kind| kind == "whl")).context("no wheel")
}
