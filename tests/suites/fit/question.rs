//! `whyoom fit`, asked about one of the scripts in `tests/scenarios/fit`.

use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use harness::{
    Build, Trial,
    documents::{Fit, FitFrontier, FitVary},
    from_slice, python, root, text,
};

/// `whyoom fit --json` with these flags, about a command.
pub(crate) fn fit(flags: &[&str], command: &[String]) -> Result<Output> {
    let output = Command::new("timeout")
        .args(["--kill-after=10", "300"])
        .arg(Build::ready()?.whyoom())
        .args(["fit", "--json"])
        .args(flags)
        .arg("--")
        .args(command)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .output()?;
    Ok(output)
}

/// What it answered.
pub(crate) fn answer(output: &Output) -> Result<Fit> {
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    let answer: Fit = from_slice(&output.stdout).with_context(said)?;
    ensure!(answer.schema == "whyoom.fit", "the schema is {}", answer.schema);
    Ok(answer)
}

/// A script of that folder.
pub(super) fn script(file: &str) -> String {
    text(&root().join("tests/scenarios/fit").join(file))
}

/// A script and the words behind it, with a range for its batch.
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) flags: &'static [&'static str],
    /// As `--vary` takes it.
    pub(super) batches: &'static str,
}

impl Script {
    fn command(&self, batch: &str) -> Result<Vec<String>> {
        let words = [vec![python()?, script(self.file)], vec!["--batch".into(), batch.into()]];
        Ok([words.concat(), self.flags.iter().map(|flag| (*flag).into()).collect()].concat())
    }

    /// The answer of `whyoom fit`, whether it fits or not.
    pub(super) fn ask(&self, flags: &[&str], batch: &str) -> Result<Fit> {
        let output = fit(flags, &self.command(batch)?)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);
        answer(&output)
    }

    /// The answer about the largest batch.
    pub(super) fn ask_for_largest(&self, gpus: &str) -> Result<FitVary> {
        let vary = format!("batch={}", self.batches);
        let answer = self.ask(&["--gpu", gpus, "--vary", &vary], "{batch}")?;
        let vary = answer.vary.context("it says nothing about the batch")?;
        ensure!(!vary.runs.is_empty(), "it answers without a run");
        Ok(vary)
    }

    /// The answer about the largest batch for values of another parameter.
    pub(super) fn ask_for_frontier(&self, gpus: &str, other: &str) -> Result<FitFrontier> {
        let vary = format!("batch={}", self.batches);
        let answer = self.ask(&["--gpu", gpus, "--vary", &vary, "--vary", other], "{batch}")?;
        ensure!(answer.vary.is_none(), "one parameter was varied, it says");
        answer.frontier.context("it says nothing about several parameters")
    }

    /// Whether it really runs on a simulated GPU as large as the real one; otherwise memory must run out.
    pub(super) fn runs_on(&self, gpu: &str, batch: u64) -> Result<bool> {
        let mut command = self.command(&batch.to_string())?;
        command.extend(["--steps", "4"].map(str::to_owned));
        let ran = Trial::on(&["--gpu", gpu], &command).plain()?;
        let last = ran.stdout.lines().last();
        let is_end = |line: &str| line.starts_with("peak ");
        let (ended, ran_out) =
            (ran.status == 0 && last.is_some_and(is_end), ran.stderr.contains("OutOfMemoryError"));
        ensure!(ended != ran_out, "batch {batch}: {}:\n{}", ran.status, ran.stderr);
        Ok(ended)
    }
}
