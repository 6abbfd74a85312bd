//! The wheels, and what lies in them beside the package and the command.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use harness::{Architecture, Build, environment, must_succeed, root, zig_variables};

use super::{output::output, packaged};

/// Builds everything for this machine and packs it: the path of the wheel.
pub(super) fn wheel() -> Result<PathBuf> {
    cleared(&dist())?;
    packed(Build::ready()?, Architecture::host()?)
}

/// The same for every processor.
pub(super) fn wheels() -> Result<Vec<(Architecture, PathBuf)>> {
    cleared(&dist())?;
    let wheel = |architecture| {
        let wheel = packed(&Build::made_for(architecture)?, architecture)?;
        Ok((architecture, wheel))
    };
    Architecture::ALL.into_iter().map(wheel).collect()
}

fn dist() -> PathBuf {
    root().join("dist")
}

fn packed(build: &Build, architecture: Architecture) -> Result<PathBuf> {
    stage(build, &root().join("python/whyoom.data/data"))?;
    pack(architecture)
}

/// Puts what is not Python where maturin finds it.
fn stage(build: &Build, staged: &Path) -> Result<()> {
    let libraries: Vec<_> = packaged::libraries().collect();
    copy(build.folder(), &staged.join("lib/whyoom"), &libraries)?;
    copy(&root().join(packaged::HEADERS_FOLDER), &staged.join("include"), &packaged::HEADERS)?;
    // Texts, the same for every processor: by the command that runs here.
    let (whyoom, share) = (Build::ready()?.whyoom(), staged.join("share"));
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

fn pack(architecture: Architecture) -> Result<PathBuf> {
    let maturin = environment("maturin")?.join("bin/maturin");
    let mut command = Command::new(maturin);
    command.args(["build", "--quiet", "--locked", "--out"]).arg(dist());
    // For work on these commands, the command comes from a quick build as the rest does.
    if !Build::is_given() {
        command.args(["--release", "--target", &architecture.triple()]);
        command.envs(zig_variables(architecture)?);
    }
    must_succeed(command.current_dir(root().join("python")))?;
    let end = format!("_{}.whl", architecture.name());
    let mut wheels = fs::read_dir(dist())?.flatten().map(|entry| entry.path());
    wheels.find(|path| path.to_string_lossy().ends_with(&end)).context("no wheel")
}
