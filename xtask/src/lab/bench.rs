//! What all parts need: the build, and the real programs from the package index.

use std::{
    ffi::OsStr,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::tools::release_build;

/// Longer than any scenario takes: one that hangs must not hang the gate.
const TIMEOUT_SECONDS: &str = "300";

/// The lab, built, with what runs on it.
pub(crate) struct Bench {
    /// The folder of the programs and libraries.
    pub(crate) binaries: PathBuf,
}

/// How a program in the lab ended.
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The JSON in the last line that the program printed; an error with its own words otherwise.
    pub(crate) fn figures(&self) -> Result<Value> {
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
    pub(crate) fn prepare() -> Result<Self> {
        Ok(Self { binaries: release_build()? })
    }

    /// Runs a command in a new lab.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        flags: &[impl AsRef<OsStr>],
        command: &[S],
    ) -> Result<Outcome> {
        self.run_with(flags, command, &[])
    }

    /// The same, with additions to the environment.
    pub(crate) fn run_with<S: AsRef<OsStr>>(
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
}
