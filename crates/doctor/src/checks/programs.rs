//! A program alone and under `whyoom run`: it must not notice.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::{Command, Output},
};

use whyoom_files::temporary;

use super::memory::TOOK;
use crate::outcome::{Outcome, Status};

/// What the command is told, so that it is the program.
const TAKE: [&str; 3] = ["doctor", "--check", "take"];

/// The options of `whyoom run`, as they are tried.
pub(super) const RECORDED: &[&str] = &[];
pub(super) const POOLED: &[&str] = &["--pool"];

/// A program, and what it says first where it works.
pub(super) struct Program {
    pub(super) words: Vec<OsString>,
    pub(super) says: &'static str,
    pub(super) is: &'static str,
}

/// The command itself as a program, under `whyoom run` with these options.
pub(super) fn run(options: &[&str]) -> Outcome {
    let own = match std::env::current_exe() {
        Ok(own) => own.into_os_string(),
        Err(error) => return Outcome::not_run(format!("no program could be started: {error}")),
    };
    let words = [own].into_iter().chain(TAKE.map(OsString::from)).collect();
    Program { words, says: TOOK, is: "a program" }.under(options)
}

impl Program {
    /// Compares the program with itself under `whyoom run`.
    pub(super) fn under(&self, options: &[&str]) -> Outcome {
        let compared = self.alone().and_then(|alone| self.compared(&alone, options));
        compared.unwrap_or_else(|error| {
            Outcome::not_run(format!("no program could be started: {error}"))
        })
    }

    /// What it does without `whyoom run`.
    pub(super) fn alone(&self) -> io::Result<Output> {
        self.command().output()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    fn compared(&self, alone: &Output, options: &[&str]) -> io::Result<Outcome> {
        let folder = tempfile::tempdir_in(temporary::folder())?;
        let recording = folder.path().join("recording");
        if !text(&alone.stdout).starts_with(self.says) {
            let why = last(alone);
            return Ok(Outcome::not_run(format!("{} does not work alone either: {why}", self.is)));
        }
        let mut run = Command::new(std::env::current_exe()?);
        run.arg("run").arg("-o").arg(&recording).args(options).arg("--").args(&self.words);
        let recorded = run.output()?;
        let same = alone.status.code() == recorded.status.code() && alone.stdout == recorded.stdout;
        let what = if options.is_empty() { "whyoom run" } else { "whyoom run --pool" };
        let is = self.is;
        Ok(match (same, has_events(&recording)) {
            (true, true) => {
                Outcome::ok(format!("{is} does the same under {what}, and is recorded"))
            }
            (true, false) => Outcome::failed(
                format!(
                    "{is} does the same under {what}, but nothing was recorded: {}",
                    last(&recorded)
                ),
                "whyoom run cannot record here: it says why on standard error",
            ),
            (false, _) => Outcome::failed(
                format!("{is} ends otherwise under {what}: {}", last(&recorded)),
                format!("do not use {what} here, and send this report"),
            ),
        })
    }
}

/// The worse of two results, with the lines of both.
pub(super) fn worse(one: Outcome, other: Outcome) -> Outcome {
    let badness = |outcome: &Outcome| match outcome.status {
        Status::Ok => 0,
        Status::NotRun => 1,
        Status::Differs => 2,
        Status::Failed | Status::TimedOut | Status::Killed => 3,
    };
    let (mut told, rest) =
        if badness(&other) > badness(&one) { (other, one) } else { (one, other) };
    told.found.extend(rest.found);
    told.means.extend(rest.means);
    told
}

fn has_events(recording: &Path) -> bool {
    let entries = std::fs::read_dir(recording).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|kind| kind == "part"))
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last line that it said.
pub(super) fn last(output: &Output) -> String {
    let said = [text(&output.stdout), text(&output.stderr)].concat();
    said.lines().last().unwrap_or("it says nothing").to_owned()
}
