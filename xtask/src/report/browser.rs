//! Reports opened in headless Chromium.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use harness::{from_str, must_succeed, root};
use serde::{Deserialize, Serialize};

/// Debian's browser, and where another may be named.
const CHROMIUM: &str = "chromium";
const CHROMIUM_VARIABLE: &str = "WHYOOM_CHROMIUM";

/// A report to open.
#[derive(Serialize)]
pub(super) struct Look {
    pub(super) file: PathBuf,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) scheme: &'static str,
    pub(super) screenshot: Option<PathBuf>,
}

/// What was seen.
#[derive(Deserialize)]
struct Seen {
    ready: u64,
    complaints: Vec<String>,
}

/// Opens each of them in a page of its own; the most milliseconds until one was interactive.
pub(super) fn look(looks: &[Look]) -> Result<u64> {
    let web = root().join("web");
    if !web.join("node_modules/puppeteer-core").is_dir() {
        must_succeed(Command::new("npm").args(["ci", "--silent"]).current_dir(&web))?;
    }
    let mut node = Command::new("node")
        .arg(root().join("xtask/src/report/browser.mjs"))
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
    seen.iter().map(|seen| seen.ready).max().context("no page was opened")
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
