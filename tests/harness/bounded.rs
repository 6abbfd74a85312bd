//! Commands that are attacked: how long they take, how much memory, and as whom they run.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use serde::Deserialize;
use whyoom_trace::Bytes;

use crate::{
    checkout::{root, text},
    strict::from_slice,
};

/// So long may a command take over a hostile input: more is a hang.
const SECONDS: f64 = 2.0;
/// Beyond this it is killed, so that the check can say how bad it is.
const KILLED_AFTER: &str = "20";
/// So much memory may it take whatever the input is, and for each byte of it.
const RESIDENT: u64 = 64 << 20;
const RESIDENT_PER_BYTE: u64 = 32;

/// Two users without privilege. Their numbers need no names.
pub const VICTIM: u32 = 61_001;
/// The other one.
pub const STRANGER: u32 = 61_002;

/// How a command ended, and what it took.
#[derive(Debug, Deserialize)]
pub struct Bounded {
    /// Nothing where it had to be killed; minus the signal that ended it.
    pub status: Option<i32>,
    /// The time that it took.
    pub seconds: f64,
    /// The most memory that it had.
    pub resident: u64,
    /// What it printed.
    pub out: String,
    /// What it said.
    pub err: String,
}

impl Bounded {
    /// Runs a command; as another user where one is named, which needs root.
    pub fn run(words: &[&str], user: Option<u32>, variables: &[(&str, &str)]) -> Result<Self> {
        let user = user.map_or_else(|| "-".to_owned(), |user| user.to_string());
        let mut command = Command::new("python3");
        command.arg(root().join("tests/harness/bounded.py")).args([KILLED_AFTER, &user]);
        let output = command.args(words).envs(variables.iter().copied()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {said}", words.join(" "));
        from_slice(&output.stdout)
    }

    /// An error where it hung, crashed, or took more than an input of so many bytes pays for.
    pub fn in_bounds(self, input: u64) -> Result<Self> {
        self.in_bounds_with_time(input, SECONDS)
    }

    /// Returns the command that ran, if it took no more memory than an input of so many bytes pays for, and no more
    /// than these seconds.
    ///
    /// # Errors
    /// As [`Self::in_bounds`].
    pub fn in_bounds_with_time(self, input: u64, allowed_seconds: f64) -> Result<Self> {
        let Self { status, seconds, err, .. } = &self;
        let resident = Bytes(self.resident);
        let allowed = Bytes(RESIDENT + RESIDENT_PER_BYTE * input);
        ensure!(status.is_some() && *seconds <= allowed_seconds, "it took {seconds:.1} s: {err}");
        ensure!(status.is_some_and(|status| status >= 0), "signal {status:?} ended it: {err}");
        ensure!(!err.contains("panicked"), "{err}");
        ensure!(resident <= allowed, "it took {resident} where {allowed} are allowed");
        Ok(self)
    }
}

/// The bytes of a file, or of all files of a folder, as their lengths say.
pub fn input_bytes(path: &Path) -> Result<u64> {
    let found = std::fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Ok(found.len());
    }
    let mut sum = 0;
    for entry in std::fs::read_dir(path)? {
        sum += input_bytes(&entry?.path())?;
    }
    Ok(sum)
}

/// Gives a path to a user, with all that is in it. Needs root.
pub fn give_to(user: u32, path: &Path) -> Result<()> {
    let owner = format!("{user}:{user}");
    let status = Command::new("chown").args(["-hR", &owner, &text(path)]).status()?;
    ensure!(status.success(), "chown {owner} {}", path.display());
    Ok(())
}
