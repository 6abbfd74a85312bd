//! `cargo xtask wheel`: the wheel with the recorder, the pool and the lab's libraries in `dist/`,
//! installed into a fresh environment and used there.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use whyoom_lab_core::session::built_libraries;

use crate::tools::{environment, must_succeed, release_build, root, scratch};

/// What `whyoom run` preloads.
const PRELOADED: [&str; 2] = ["libwhyoom_recorder.so", "libwhyoom_pool.so"];
/// Where the pool's headers are, and what the wheel installs of them.
const HEADERS_FOLDER: &str = "crates/pool/include";
const HEADERS: [&str; 2] = ["whyoom_pool.h", "whyoom_pool.hpp"];

pub(crate) fn run(_: &[String]) -> Result<()> {
    let staged = root().join("python/whyoom.data/data");
    let libraries: Vec<_> = built_libraries().chain(PRELOADED).collect();
    copy(&release_build()?, &staged.join("lib/whyoom"), &libraries)?;
    copy(&root().join(HEADERS_FOLDER), &staged.join("include"), &HEADERS)?;
    let wheel = build()?;
    let fresh = install(&wheel)?;
    check_verdict(&fresh)?;
    check_lab(&fresh)?;
    check_recorder(&fresh)?;
    check_pool(&fresh)?;
    check_package(&fresh)?;
    let bytes = std::fs::metadata(&wheel)?.len();
    let size = whyoom_trace::Bytes(bytes);
    println!(
        "wheel: {size}, installed alone and used: a verdict, a simulated GPU, a recording, the pool"
    );
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

fn build() -> Result<PathBuf> {
    let dist = root().join("dist");
    if dist.exists() {
        std::fs::remove_dir_all(&dist)?;
    }
    let maturin = environment("maturin")?.join("bin/maturin");
    let mut command = Command::new(maturin);
    command.args(["build", "--quiet", "--release", "--locked", "--out"]).arg(&dist);
    must_succeed(command.current_dir(root().join("python")))?;
    let mut wheels = std::fs::read_dir(&dist)?.flatten().map(|entry| entry.path());
    wheels.find(|path| path.extension().is_some_and(|kind| kind == "whl")).context("no wheel")
}

/// Nothing but the wheel: what it needs must be inside.
fn install(wheel: &Path) -> Result<PathBuf> {
    let fresh = scratch("wheel")?.join("venv");
    if fresh.exists() {
        std::fs::remove_dir_all(&fresh)?;
    }
    must_succeed(Command::new("python3").args(["-m", "venv"]).arg(&fresh))?;
    let mut pip = Command::new(fresh.join("bin/pip"));
    must_succeed(pip.args(["install", "--quiet", "--no-index"]).arg(wheel))?;
    Ok(fresh.join("bin/whyoom"))
}

fn check_verdict(whyoom: &Path) -> Result<()> {
    let answer = output(
        Command::new(whyoom)
            .args(["why", "--json", "tests/fixtures/snapshots/fragmented-oom.pickle"])
            .current_dir(root())
            .env_clear(),
    )?;
    ensure!(answer.contains("\"cause\": \"fragmented-cache\""), "another verdict: {answer}");
    Ok(())
}

/// The installed lab, as an installed client of it sees it.
fn check_lab(whyoom: &Path) -> Result<()> {
    let mut command = Command::new(whyoom);
    command.args(["lab", "run", "--gpu", "t4", "--"]).arg(whyoom).args(["lab", "calibrate"]);
    let answer = output(command.env_clear())?;
    ensure!(answer.contains("Tesla T4 (simulated)"), "no simulated GPU: {answer}");
    Ok(())
}

/// The installed recorder, in a client of the installed lab.
fn check_recorder(whyoom: &Path) -> Result<()> {
    let folder = scratch("wheel")?.join("recording");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let mut command = Command::new(whyoom);
    command.args(["lab", "run", "--gpu", "t4", "--"]).arg(whyoom).args(["run", "-o"]).arg(&folder);
    command.arg("--").arg(whyoom).args(["lab", "calibrate"]);
    output(command.env_clear())?;
    let answer = output(Command::new(whyoom).arg("why").arg(&folder).args(["--json"]).env_clear())?;
    ensure!(answer.contains("\"kind\": \"recording\""), "no recording: {answer}");
    Ok(())
}

/// The installed pool, under a client of the installed lab: what it asks the driver for comes in pages.
fn check_pool(whyoom: &Path) -> Result<()> {
    let folder = scratch("wheel")?;
    let (recording, log) = (folder.join("pooled"), folder.join("calls.jsonl"));
    if recording.exists() {
        std::fs::remove_dir_all(&recording)?;
    }
    let mut command = Command::new(whyoom);
    command.args(["lab", "run", "--gpu", "t4", "--log"]).arg(&log).arg("--").arg(whyoom);
    command.args(["run", "--pool", "-o"]).arg(&recording).arg("--").arg(whyoom);
    output(command.args(["lab", "calibrate"]).env_clear())?;
    let calls = std::fs::read_to_string(&log)?;
    ensure!(calls.contains(r#""create":"#), "the pool took no memory: {}", log.display());
    let passed = r#""alloc":{"kind":"device""#;
    ensure!(!calls.contains(passed), "not all was served by the pool: {}", log.display());
    Ok(())
}

/// The installed package, where there is no PyTorch: it says so. Its library and headers are beside it.
fn check_package(whyoom: &Path) -> Result<()> {
    let environment = whyoom.parent().and_then(Path::parent).context("no environment")?;
    let mut python = Command::new(environment.join("bin/python"));
    let script = "import whyoom.pool, whyoom._pool_library as library; library.load()\n\
                  try: whyoom.pool.enable()\n\
                  except RuntimeError as error: print(error)";
    let answer = output(python.args(["-c", script]).env_clear())?;
    ensure!(answer.contains("no torch here"), "another answer: {answer}");
    for header in HEADERS {
        let path = environment.join("include").join(header);
        ensure!(path.is_file(), "{} was not installed", path.display());
    }
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {errors}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
