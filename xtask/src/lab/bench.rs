//! What all parts need: the build, and the real programs from the package index.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::tools::{cache, root, target};

/// Longer than any scenario takes: one that hangs must not hang the gate.
const TIMEOUT_SECONDS: &str = "300";

/// The lab, built, with what runs on it.
pub(super) struct Bench {
    /// The folder of the programs and libraries.
    pub(super) binaries: PathBuf,
}

/// How a program in the lab ended.
pub(super) struct Outcome {
    pub(super) success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Outcome {
    /// The JSON in the last line that the program printed; an error with its own words otherwise.
    pub(super) fn figures(&self) -> Result<Value> {
        if !self.success {
            bail!("it failed:\n{}\n{}", tail(&self.stdout), tail(&self.stderr));
        }
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).with_context(|| format!("its last line is no JSON: {last}"))
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

impl Bench {
    /// Builds everything that runs.
    pub(super) fn prepare() -> Result<Self> {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--workspace", "--exclude", "xtask"])
            .current_dir(root())
            .status()?;
        ensure!(status.success(), "the lab does not build");
        Ok(Self { binaries: target().join("release") })
    }

    /// Runs a command in a new lab.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        flags: &[impl AsRef<OsStr>],
        command: &[S],
    ) -> Result<Outcome> {
        self.run_with(flags, command, &[])
    }

    /// The same, with additions to the environment.
    pub(super) fn run_with<S: AsRef<OsStr>>(
        &self,
        flags: &[impl AsRef<OsStr>],
        command: &[S],
        environment: &[(String, String)],
    ) -> Result<Outcome> {
        let output = Command::new("timeout")
            .args(["--kill-after=10", TIMEOUT_SECONDS])
            .arg(self.binaries.join("whyoom"))
            .args(["lab", "run"])
            .args(flags)
            .arg("--")
            .args(command)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()?;
        Ok(Outcome {
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// The environment with the packages that `tests/scenarios/requirements/NAME.txt` pins, kept in
    /// the cache folder and made anew when the list changes.
    pub(super) fn environment(&self, name: &str) -> Result<PathBuf> {
        let requirements = root().join("tests/scenarios/requirements").join(format!("{name}.txt"));
        let wanted = std::fs::read_to_string(&requirements)?;
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
        let pip = folder.join("bin/pip");
        must_succeed(Command::new(pip).args(["install", "--quiet", "-r"]).arg(&requirements))?;
        // Written last: an installation that was cut short is made again.
        std::fs::write(mark, wanted)?;
        Ok(folder)
    }
}

/// Runs a command that belongs to the preparation.
pub(super) fn must_succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// The folder of a Python environment that a package put its files in.
pub(super) fn site_packages(environment: &Path, package: &str) -> Result<PathBuf> {
    let library = environment.join("lib");
    let python = std::fs::read_dir(&library)?.flatten().map(|entry| entry.path());
    let mut folders = python.map(|python| python.join("site-packages").join(package));
    folders.find(|folder| folder.is_dir()).with_context(|| format!("{package} is not installed"))
}
