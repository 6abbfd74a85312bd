//! What each check reports to the command that asked for it: a file of its own, since each is a process.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{outcome::Outcome, strict::from_slice};

/// Where reports go: `cargo xtask` sets it.
pub(crate) const REPORTS: &str = "WHYOOM_REPORTS";

/// How one check ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// `SUITE::PART` or `SUITE::PART::CASE`.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
    /// What a page is made of, where there is one.
    pub data: Option<Value>,
    /// True if the check was not run: it held in an earlier run, and none of its inputs has changed since.
    pub reused: bool,
}

impl Report {
    /// The suite and the part.
    #[must_use]
    pub fn place(&self) -> (&str, &str) {
        let mut words = self.name.splitn(3, "::");
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }
}

/// The folder of the reports of one run of the suites, and of what its checks share.
#[derive(Debug)]
pub struct ReportFolder(PathBuf);

impl ReportFolder {
    /// An empty one.
    pub fn create(folder: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("shared"))?;
        Ok(Self(folder))
    }

    /// The one that this process reports to.
    #[must_use]
    pub fn of_this_run() -> Option<Self> {
        env::var_os(REPORTS).map(|folder| Self(folder.into()))
    }

    /// What a child process is told.
    #[must_use]
    pub fn variable(&self) -> (&'static str, &Path) {
        (REPORTS, &self.0)
    }

    /// For what the checks of one run share.
    #[must_use]
    pub fn shared(&self) -> PathBuf {
        self.0.join("shared")
    }

    /// Removes it, when its reports have been read.
    pub fn remove(&self) -> Result<()> {
        Ok(fs::remove_dir_all(&self.0)?)
    }

    pub(crate) fn write(&self, report: &Report) -> Result<()> {
        let name = format!("{:016x}.json", crate::build::hash(&report.name));
        Ok(fs::write(self.0.join(name), serde_json::to_vec(report)?)?)
    }
}

/// All reports of a run, by name.
pub fn read_reports(folder: &ReportFolder) -> Result<Vec<Report>> {
    let mut reports = Vec::new();
    for entry in fs::read_dir(&folder.0)? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "json") {
            let report: Report =
                from_slice(&fs::read(&path)?).with_context(|| path.display().to_string())?;
            reports.push(report);
        }
    }
    reports.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(reports)
}
