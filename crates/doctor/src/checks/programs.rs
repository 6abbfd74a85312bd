//! A program alone and under `whyoom run`: it must not notice.

use std::{
    io,
    path::Path,
    process::{Command, Output},
};

use super::memory::TOOK;
use crate::outcome::Outcome;

/// What the command is told, so that it is the program.
pub(super) const TAKE: [&str; 3] = ["doctor", "--check", "take"];

pub(super) fn run(options: &[&str]) -> Outcome {
    match compared(options) {
        Ok(outcome) => outcome,
        Err(error) => Outcome::not_run(format!("no program could be started: {error}")),
    }
}

fn compared(options: &[&str]) -> io::Result<Outcome> {
    let own = std::env::current_exe()?;
    let folder = tempfile::tempdir()?;
    let recording = folder.path().join("recording");
    let alone = Command::new(&own).args(TAKE).output()?;
    let mut run = Command::new(&own);
    run.arg("run").arg("-o").arg(&recording).args(options).arg("--").arg(&own).args(TAKE);
    let recorded = run.output()?;
    if !text(&alone.stdout).starts_with(TOOK) {
        return Ok(Outcome::not_run("a program cannot take memory without whyoom run either"));
    }
    let same = alone.status.code() == recorded.status.code() && alone.stdout == recorded.stdout;
    let what = if options.is_empty() { "whyoom run" } else { "whyoom run --pool" };
    Ok(match (same, has_events(&recording)) {
        (true, true) => {
            Outcome::ok(format!("a program does the same under {what}, and is recorded"))
        }
        (true, false) => Outcome::failed(
            format!(
                "a program does the same under {what}, but nothing was recorded: {}",
                last(&recorded)
            ),
            "whyoom run cannot record here: it says why on standard error",
        ),
        (false, _) => Outcome::failed(
            format!("a program ends otherwise under {what}: {}", last(&recorded)),
            format!("do not use {what} here, and send this report"),
        ),
    })
}

fn has_events(recording: &Path) -> bool {
    let entries = std::fs::read_dir(recording).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|kind| kind == "part"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last line that it said.
fn last(output: &Output) -> String {
    text(&output.stderr).lines().last().unwrap_or("it says nothing").to_owned()
}
