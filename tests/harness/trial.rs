//! A program on a new simulated GPU: by itself, under `whyoom run`, or with the preload library alone.

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    build::{Build, hash},
    checkout::{fresh, text},
    documents::Why,
    report::ReportFolder,
    strict::from_str,
};

/// Longer than any of them takes: one that hangs must not hang the run.
const TIMEOUT_SECONDS: &str = "300";

/// What the lab says of itself.
const LAB: &str = "whyoom lab:";

/// Puts the recorder before what the lab preloads: `sh -c PRELOAD - RECORDER FOLDER COMMAND…`
const PRELOAD: &str = r#"export LD_PRELOAD="$1${LD_PRELOAD:+:$LD_PRELOAD}" WHYOOM_RECORDING="$2"
shift 2; exec "$@""#;

/// What is to be run.
#[derive(Debug, Clone, Default)]
pub struct Trial {
    /// How the simulated GPU is made.
    pub lab: Vec<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What is added to the environment.
    pub environment: Vec<(String, String)>,
    /// What stands between the lab and `whyoom run`: something that ends in `exec "$@"`.
    pub within: Vec<String>,
    /// Another build than the checkout's own.
    pub build: Option<Build>,
}

/// How it ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    /// As a shell counts it.
    pub status: i32,
    /// What it printed.
    pub stdout: String,
    /// Without what the lab says of itself.
    pub stderr: String,
}

/// How it ended under `whyoom run`, and what that left.
#[derive(Debug)]
pub struct Recorded {
    /// How it ended.
    pub ran: Ran,
    /// The recording.
    pub folder: PathBuf,
    /// The lab's own log of driver calls.
    pub log: PathBuf,
}

fn words<S: AsRef<OsStr>>(words: &[S]) -> Vec<String> {
    words.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect()
}

impl Trial {
    /// A program on a device of this size.
    pub fn new<S: AsRef<OsStr>>(memory: &str, command: &[S]) -> Self {
        Self::on(&["--memory", memory], command)
    }

    /// A program on a device that these flags of `whyoom lab run` describe.
    pub fn on<S: AsRef<OsStr>>(lab: &[impl AsRef<OsStr>], command: &[S]) -> Self {
        Self { lab: words(lab), command: words(command), ..Self::default() }
    }

    /// The same with an addition to the environment.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.into(), value.as_ref().to_string_lossy().into_owned()));
        self
    }

    /// By itself.
    pub fn plain(&self) -> Result<Ran> {
        self.run(&[], &[])
    }

    /// By itself, once for all checks of a run that judge it.
    pub fn plain_shared(&self) -> Result<Ran> {
        let Some(folder) = ReportFolder::of_this_run() else { return self.plain() };
        let file = folder.shared().join(format!("{:016x}", hash(&format!("{self:?}"))));
        let lock = File::create(file.with_added_extension("lock"))?;
        lock.lock()?;
        if let Ok(kept) = fs::read_to_string(&file) {
            return from_str(&kept);
        }
        let ran = self.plain()?;
        fs::write(&file, serde_json::to_vec(&ran)?)?;
        Ok(ran)
    }

    /// Under `whyoom run`, with the lab's log beside it.
    pub fn recorded(&self, name: &str) -> Result<Recorded> {
        self.recorded_with(name, &[])
    }

    /// The same, with options of `whyoom run`.
    pub fn recorded_with(&self, name: &str, options: &[&str]) -> Result<Recorded> {
        let folder = fresh(name)?;
        let log = folder.with_added_extension("log");
        let _ = fs::remove_file(&log);
        let mut before =
            vec![text(&self.build()?.whyoom()), "run".into(), "-o".into(), text(&folder)];
        before.extend(options.iter().map(|option| (*option).to_owned()));
        before.push("--".to_owned());
        let ran = self.run(&["--log".into(), text(&log)], &before)?;
        Ok(Recorded { ran, folder, log })
    }

    /// With the preload library, told where to record; nobody looks at the recording afterwards.
    pub fn preloaded(&self, folder: &Path) -> Result<Ran> {
        let shell = ["sh", "-c", PRELOAD, "-"].map(str::to_owned).to_vec();
        let before = [shell, vec![text(&self.build()?.recorder()), text(folder)]].concat();
        self.run(&[], &before)
    }

    fn build(&self) -> Result<Build> {
        self.build.clone().map_or_else(|| Build::ready().cloned(), Ok)
    }

    fn run(&self, flags: &[String], before: &[String]) -> Result<Ran> {
        let output = Command::new("timeout")
            .args(["--kill-after=10", TIMEOUT_SECONDS])
            .arg(self.build()?.whyoom())
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
    /// It ended well.
    pub fn succeeded(&self) -> Result<&Self> {
        let (stdout, stderr) = (tail(&self.stdout), tail(&self.stderr));
        ensure!(self.status == 0, "it ended with {}:\n{stdout}\n{stderr}", self.status);
        Ok(self)
    }

    /// The JSON in the last line that a program printed which ended well.
    pub fn figures<T: DeserializeOwned>(&self) -> Result<T> {
        from_str(self.succeeded()?.stdout.lines().last().unwrap_or_default())
    }

    /// The program did under the recorder what it does without: the same output, the same end, and
    /// all that it said on standard error. How many more lines there are.
    pub fn like(&self, plain: &Self) -> Result<usize> {
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
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

impl Recorded {
    /// The verdict of the recording.
    pub fn verdict(&self) -> Result<Why> {
        Why::ask(Build::ready()?, &[&self.folder])
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
