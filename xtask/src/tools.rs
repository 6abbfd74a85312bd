//! What the commands share: where things are, and how others are run.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The checkout.
pub(crate) fn root() -> PathBuf {
    // Cargo says it at run time too: a build folder that checkouts share may hold another's.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
    let manifest = manifest.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map_or_else(|| manifest.clone(), Path::to_path_buf)
}

/// The folder with data from real GPUs, which lies beside the checkout where there is one.
pub(crate) fn shared_data() -> Option<PathBuf> {
    let folder = root().join("../shared/data");
    folder.is_dir().then_some(folder)
}

/// Says that a part was skipped, and why.
pub(crate) fn skipped(what: &str) {
    println!("SKIPPED: {what}: ../shared/data is not there");
}

/// The folder for what is installed and kept between runs, outside the checkout.
pub(crate) fn cache() -> PathBuf {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let home = || folder("HOME").unwrap_or_default().join(".cache");
    let general = || folder("XDG_CACHE_HOME").unwrap_or_else(home).join("whyoom-ci");
    folder("WHYOOM_CI_CACHE").unwrap_or_else(general)
}

/// The Python environment with the packages that `tests/requirements/NAME.txt` names, kept in the
/// cache folder and made anew when the list changes.
pub(crate) fn environment(name: &str) -> Result<PathBuf> {
    let requirements = root().join("tests/requirements").join(format!("{name}.txt"));
    let wanted = std::fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let folder = cache().join("venvs").join(name);
    let mark = folder.join("installed.txt");
    if std::fs::read_to_string(&mark).ok().as_ref() == Some(&wanted) {
        return Ok(folder);
    }
    println!("installing {}", wanted.trim().replace('\n', ", "));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    must_succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    if let Some(other) = wanted.lines().find_map(|line| line.strip_prefix("# beside: ")) {
        lend(&environment(other)?, &folder)?;
    }
    let mut pip = Command::new(folder.join("bin/pip"));
    must_succeed(pip.args(["install", "--quiet", "--requirement"]).arg(&requirements))?;
    // Written last: an installation that was cut short is made again.
    std::fs::write(mark, wanted)?;
    Ok(folder)
}

/// Lets one environment use the packages of another, so that what is large is installed once.
pub(crate) fn lend(from: &Path, to: &Path) -> Result<()> {
    let packages = site_packages(from)?;
    let line = packages.to_str().context("a path that is not text")?;
    Ok(std::fs::write(site_packages(to)?.join("beside.pth"), line)?)
}

/// Where an environment has its packages.
pub(crate) fn site_packages(environment: &Path) -> Result<PathBuf> {
    let pythons = std::fs::read_dir(environment.join("lib"))?.flatten();
    let mut folders = pythons.map(|python| python.path().join("site-packages"));
    folders.find(|folder| folder.is_dir()).context("no folder of packages")
}

/// Runs a command that belongs to the preparation.
pub(crate) fn must_succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// A folder with a build to use as it is, in place of a new one: for work on these commands.
const BINARIES: &str = "WHYOOM_XTASK_BINARIES";

/// Whether there is one.
pub(crate) fn binaries_given() -> bool {
    std::env::var_os(BINARIES).is_some()
}

/// Builds everything that runs, as it is given to people; the folder that it is in.
pub(crate) fn release_build() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(BINARIES) {
        return Ok(given.into());
    }
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--release", "--workspace", "--exclude", "xtask"]);
    must_succeed(build.current_dir(root()))?;
    Ok(target().join("release"))
}

/// Cargo's build folder.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// A folder for what a command makes, in the build folder: two checkouts do not meet there.
pub(crate) fn scratch(name: &str) -> Result<PathBuf> {
    let folder = target().join("xtask").join(name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// The release build of the command, made anew if need be.
pub(crate) fn whyoom() -> Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "whyoom"])
        .current_dir(root())
        .status()?;
    ensure!(status.success(), "whyoom does not build");
    Ok(target().join("release/whyoom"))
}

/// Runs one of the scripts in `python/` and reads the JSON that it prints.
pub(crate) fn python(script: &str, arguments: &[&Path]) -> Result<Value> {
    let script = root().join("xtask/python").join(script);
    let output =
        Command::new("python3").arg(&script).args(arguments).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{} failed", script.display());
    if output.stdout.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{}", script.display()))
}

/// What `whyoom why --json` says of some files.
pub(crate) fn why(whyoom: &Path, files: &[&Path]) -> Result<Value> {
    let output = Command::new(whyoom).args(["why", "--json"]).args(files).output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A number out of JSON that one of our own scripts printed.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}
