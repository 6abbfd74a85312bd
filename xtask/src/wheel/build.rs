//! The wheel, and what lies in it beside the package and the command.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use harness::{Build, environment, must_succeed, root};

use super::{output::output, packaged};

/// Builds everything and packs it: the path of the wheel.
pub(super) fn wheel() -> Result<PathBuf> {
    stage(Build::ready()?, &root().join("python/whyoom.data/data"))?;
    pack()
}

/// Puts what is not Python where maturin finds it.
fn stage(build: &Build, staged: &Path) -> Result<()> {
    let libraries: Vec<_> = packaged::libraries().collect();
    copy(build.folder(), &staged.join("lib/whyoom"), &libraries)?;
    copy(&root().join(packaged::HEADERS_FOLDER), &staged.join("include"), &packaged::HEADERS)?;
    let (whyoom, share) = (build.whyoom(), staged.join("share"));
    cleared(&share)?;
    for (path, words) in packaged::generated(&whyoom)? {
        let path = share.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&share))?;
        fs::write(path, output(Command::new(&whyoom).args(&words))?)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, files: &[&str]) -> Result<()> {
    fs::create_dir_all(to)?;
    for file in files {
        fs::copy(from.join(file), to.join(file)).with_context(|| format!("cannot copy {file}"))?;
    }
    Ok(())
}

/// A folder that is not there, so that something can be made in its place.
fn cleared(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
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
    if !Build::is_given() {
        command.arg("--release");
    }
    must_succeed(command.current_dir(root().join("python")))?;
    let mut wheels = fs::read_dir(&dist)?.flatten().map(|entry| entry.path());
    wheels.find(|path| path.extension().is_some_and(|kind| kind == "whl")).context("no wheel")
}
