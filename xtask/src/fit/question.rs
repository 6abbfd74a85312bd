//! `whyoom fit`, asked about one of the scripts in `tests/scenarios/fit`.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{
    lab::Bench,
    tools::{environment, root},
};

/// A script and the words behind it, with a range for its batch.
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) flags: &'static [&'static str],
    /// As `--vary` takes it.
    pub(super) batches: &'static str,
}

impl Script {
    /// The answer of `whyoom fit`, as JSON, whether it fits or not.
    pub(super) fn ask(&self, bench: &Bench, flags: &[&str], batch: &str) -> Result<Value> {
        let python = environment("torch")?.join("bin/python");
        let script = root().join("tests/scenarios/fit").join(self.file);
        let output = Command::new(bench.binaries.join("whyoom"))
            .args(["fit", "--json"])
            .args(flags)
            .arg("--")
            .arg(python)
            .arg(script)
            .args(self.flags)
            .args(["--batch", batch])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .output()?;
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(matches!(output.status.code(), Some(0 | 3)), "{}:\n{}", self.name, said());
        serde_json::from_slice(&output.stdout).with_context(said)
    }

    /// Whether it runs on a simulated GPU as large as the real one; otherwise memory must run out.
    pub(super) fn runs_on(&self, bench: &Bench, gpu: &str, batch: u64) -> Result<bool> {
        let python = environment("torch")?.join("bin/python").display().to_string();
        let script = root().join("tests/scenarios/fit").join(self.file).display().to_string();
        let batch = batch.to_string();
        let words = [python.as_str(), &script, "--batch", &batch, "--steps", "4"];
        let outcome = bench.run(&["--gpu", gpu], &[&words, self.flags].concat())?;
        let ran_out = outcome.stderr.contains("OutOfMemoryError");
        ensure!(outcome.success || ran_out, "{}:\n{}", self.name, outcome.stderr);
        Ok(outcome.success)
    }

    /// The answer about the largest batch.
    pub(super) fn ask_for_largest(&self, bench: &Bench, gpus: &str) -> Result<Value> {
        let vary = format!("batch={}", self.batches);
        self.ask(bench, &["--gpu", gpus, "--vary", &vary], "{batch}")
    }
}
