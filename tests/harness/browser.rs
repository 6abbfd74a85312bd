//! Pages opened in headless Chromium.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{from_str, must_succeed, root};

/// Debian's browser, and where another may be named.
const CHROMIUM: &str = "chromium";
const CHROMIUM_VARIABLE: &str = "WHYOOM_CHROMIUM";

/// A page to open.
#[derive(Debug, Clone, Serialize)]
pub struct Look {
    /// Where it is.
    pub file: PathBuf,
    /// Of the window, in pixels.
    pub width: u32,
    /// Of the window, in pixels.
    pub height: u32,
    /// `light` or `dark`.
    pub scheme: &'static str,
    /// Where its picture is put.
    pub screenshot: Option<PathBuf>,
    /// Whether a script says when it is ready.
    pub has_script: bool,
    /// An expression of JavaScript that is evaluated in it.
    pub ask: Option<&'static str>,
}

/// What was seen.
#[derive(Debug, Deserialize)]
pub struct Seen {
    /// Milliseconds until it was interactive.
    pub ready: u64,
    complaints: Vec<String>,
    /// What was asked for.
    pub answer: Value,
}

/// Opens each in a window of its own. An error, a request or what its policy refused is an error here.
pub fn look(looks: &[Look]) -> Result<Vec<Seen>> {
    let web = root().join("web");
    if !web.join("node_modules/puppeteer-core").is_dir() {
        must_succeed(Command::new("npm").args(["ci", "--silent"]).current_dir(&web))?;
    }
    let mut node = Command::new("node")
        .arg(root().join("tests/harness/browser.mjs"))
        .args([chromium()?, web])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run node (Debian: apt-get install nodejs npm)")?;
    let mut jobs = node.stdin.take().context("no input")?;
    jobs.write_all(&serde_json::to_vec(looks)?)?;
    drop(jobs);
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "the browser failed");
    let lines = String::from_utf8(output.stdout)?;
    let seen: Vec<Seen> = lines.lines().map(from_str).collect::<Result<_>>()?;
    ensure!(seen.len() == looks.len(), "{} of {} pages opened", seen.len(), looks.len());
    for (look, seen) in looks.iter().zip(&seen) {
        ensure!(seen.complaints.is_empty(), "{}: {:?}", look.file.display(), seen.complaints);
    }
    Ok(seen)
}

/// Where the browser is.
fn chromium() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(CHROMIUM_VARIABLE) {
        return Ok(given.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(CHROMIUM));
    let found = found.into_iter().find(|file: &PathBuf| Path::is_file(file));
    found.with_context(|| format!("no {CHROMIUM} (Debian: apt-get install chromium)"))
}
