//! A program in a new lab: by itself, under `whyoom run`, or with the preload library alone.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::{Stage, fresh};
use crate::tools::why;

/// Longer than any of them takes.
const TIMEOUT_SECONDS: &str = "300";

/// What the lab says of itself.
const LAB: &str = "whyoom lab:";

/// Puts the recorder before what the lab preloads: `sh -c PRELOAD - RECORDER FOLDER COMMAND…`
const PRELOAD: &str = r#"export LD_PRELOAD="$1${LD_PRELOAD:+:$LD_PRELOAD}" WHYOOM_RECORDING="$2"
shift 2; exec "$@""#;

/// What is to be run.
#[derive(Clone, Default)]
pub(crate) struct Trial {
    /// How the lab is made.
    pub(crate) lab: Vec<String>,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// What is added to the environment.
    pub(crate) environment: Vec<(String, String)>,
    /// What stands between the lab and `whyoom run`: something that ends in `exec "$@"`.
    pub(crate) within: Vec<String>,
}

/// How it went.
pub(crate) struct Ran {
    /// As a shell counts it.
    pub(crate) status: i32,
    pub(crate) stdout: String,
    /// Without what the lab says of itself.
    pub(crate) stderr: String,
}

/// How it went under `whyoom run`, and what that left.
pub(crate) struct Recorded {
    pub(crate) ran: Ran,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
}

impl Trial {
    /// A program on a device of this size.
    pub(crate) fn new<S: AsRef<OsStr>>(memory: &str, command: &[S]) -> Self {
        let text = |word: &S| word.as_ref().to_string_lossy().into_owned();
        let command = command.iter().map(text).collect();
        Self { lab: vec!["--memory".into(), memory.into()], command, ..Self::default() }
    }

    /// The same with an addition to the environment.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.into(), value.as_ref().to_string_lossy().into_owned()));
        self
    }

    /// By itself.
    pub(crate) fn plain(&self, stage: &Stage) -> Result<Ran> {
        self.run(stage, &[], &[])
    }

    /// Under `whyoom run`, with the lab's log beside it.
    pub(crate) fn recorded(&self, stage: &Stage, name: &str) -> Result<Recorded> {
        self.recorded_with(stage, name, &[])
    }

    /// The same, with options of `whyoom run`.
    pub(crate) fn recorded_with(
        &self,
        stage: &Stage,
        name: &str,
        options: &[&str],
    ) -> Result<Recorded> {
        let folder = fresh(name)?;
        let log = folder.with_extension("log");
        let _ = std::fs::remove_file(&log);
        let mut before = vec![text(&stage.whyoom()), "run".into(), "-o".into(), text(&folder)];
        before.extend(options.iter().map(|option| (*option).to_owned()));
        before.push("--".to_owned());
        let ran = self.run(stage, &["--log".into(), text(&log)], &before)?;
        Ok(Recorded { ran, folder, log })
    }

    /// With the preload library, told where to record; nobody looks at the recording afterwards.
    pub(crate) fn preloaded(&self, stage: &Stage, folder: &Path) -> Result<Ran> {
        let shell = ["sh", "-c", PRELOAD, "-"].map(str::to_owned).to_vec();
        let before = [shell, vec![text(&stage.recorder()), text(folder)]].concat();
        self.run(stage, &[], &before)
    }

    fn run(&self, stage: &Stage, flags: &[String], before: &[String]) -> Result<Ran> {
        let output = Command::new("timeout")
            .args(["--kill-after=10", TIMEOUT_SECONDS])
            .arg(stage.whyoom())
            .args(["lab", "run"])
            .args(&self.lab)
            .args(flags)
            .arg("--")
            .args(&self.within)
            .args(before)
            .args(&self.command)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()?;
        let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let stderr = lines(&output.stderr);
        let stderr = stderr.lines().filter(|line| !line.starts_with(LAB));
        Ok(Ran {
            status: output.status.code().context("the lab itself was killed")?,
            stdout: lines(&output.stdout),
            stderr: stderr.map(|line| format!("{line}\n")).collect(),
        })
    }
}

impl Ran {
    /// The program did under the recorder what it does without: the same output, the same end, and
    /// all that it said on standard error. How many more lines there are.
    pub(crate) fn like(&self, plain: &Self) -> Result<usize> {
        ensure!(
            self.status == plain.status,
            "it ended with {} in place of {}:\n{}",
            self.status,
            plain.status,
            self.stderr
        );
        let (own, other) = (masked(&self.stdout), masked(&plain.stdout));
        ensure!(own == other, "its output is\n{own}in place of\n{other}");
        let said = masked(&self.stderr);
        let mut lines = said.lines();
        for line in masked(&plain.stderr).lines() {
            ensure!(lines.any(|said| said == line), "“{line}” is not on standard error:\n{said}");
        }
        Ok(said.lines().count() - plain.stderr.lines().count())
    }

    /// The JSON in the last line that the program printed.
    pub(crate) fn figures(&self) -> Result<Value> {
        ensure!(self.status == 0, "it ended with {}:\n{}", self.status, self.stderr);
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).with_context(|| format!("its last line is no JSON: {last}"))
    }
}

impl Recorded {
    /// The verdict of the recording, as programs read it.
    pub(crate) fn verdict(&self, stage: &Stage) -> Result<Value> {
        why(&stage.whyoom(), &[&self.folder])
    }
}

/// A text without what differs from run to run: the numbers of processes, where things lie, how far
/// a loader of batches was ahead, and the time at which a library warned.
fn masked(text: &str) -> String {
    text.lines().map(|line| masked_line(line) + "\n").collect()
}

fn masked_line(line: &str) -> String {
    // [W1115 12:21:38.566735100 File.cpp:302] Warning: …
    let warned = line.strip_prefix("[W").and_then(|line| line.splitn(3, ' ').nth(2));
    let mut rest = warned.unwrap_or(line);
    let mut out = String::with_capacity(rest.len());
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, digits) = rest.split_at(at);
        let end = digits.find(|c: char| !c.is_ascii_hexdigit() && c != 'x');
        let (number, after) = digits.split_at(end.unwrap_or(digits.len()));
        let words = ["holder\":", "hog\": ", "rocess ", "peak_pinned\": "];
        let passing = words.iter().any(|word| before.ends_with(word));
        out.push_str(before);
        out.push_str(if passing || number.starts_with("0x") { "…" } else { number });
        rest = after;
    }
    out + rest
}

/// A path as a word of a command.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn only_what_differs_is_masked() {
        let pairs = [
            ("Process 4711 has 3.00 GiB at 0x7f00", "Process … has 3.00 GiB at …\n"),
            (r#"{"holder":12,"held":1024}"#, "{\"holder\":…,\"held\":1024}\n"),
            ("[W1115 12:21:38.5 File.cpp:302] Warning", "File.cpp:302] Warning\n"),
        ];
        for (text, expected) in pairs {
            assert_eq!(masked(text), expected);
        }
    }
}
