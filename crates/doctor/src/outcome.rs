//! What a check found.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::measured::MeasuredGpu;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// As on a plain system.
    Ok,
    /// Otherwise than on a plain system; `means` says what follows.
    Differs,
    /// Something does not work here.
    Failed,
    /// It cannot be tried here.
    NotRun,
    /// It took too long and was ended.
    TimedOut,
    /// A signal ended it.
    Killed,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Differs => "differs",
            Self::Failed => "failed",
            Self::NotRun => "not run",
            Self::TimedOut => "timed out",
            Self::Killed => "killed",
        })
    }
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// What was found, a line each, the most important first.
    pub found: Vec<String>,
    /// What that means for whyoom's commands, and what to do.
    pub means: Vec<String>,
    /// What was measured.
    pub figures: BTreeMap<String, f64>,
    /// What was measured of each GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<MeasuredGpu>,
}

// What checks make. Elsewhere outcomes are only read.
#[cfg(any(target_os = "linux", test))]
impl Outcome {
    fn new(status: Status, found: impl Into<String>) -> Self {
        let (means, figures) = (Vec::new(), BTreeMap::new());
        Self { status, found: vec![found.into()], means, figures, gpus: Vec::new() }
    }

    /// As on a plain system.
    pub(crate) fn ok(found: impl Into<String>) -> Self {
        Self::new(Status::Ok, found)
    }

    /// Otherwise than on a plain system.
    pub(crate) fn differs(found: impl Into<String>, means: impl Into<String>) -> Self {
        Self { means: vec![means.into()], ..Self::new(Status::Differs, found) }
    }

    /// Something does not work.
    pub(crate) fn failed(found: impl Into<String>, means: impl Into<String>) -> Self {
        Self { means: vec![means.into()], ..Self::new(Status::Failed, found) }
    }

    /// It cannot be tried.
    pub(crate) fn not_run(why: impl Into<String>) -> Self {
        Self::new(Status::NotRun, why)
    }

    /// It did not come to its end.
    pub(crate) fn ended(status: Status, found: impl Into<String>) -> Self {
        let means = "the driver or a library in the process hangs or fails: whyoom run may, too";
        Self { means: vec![means.to_owned()], ..Self::new(status, found) }
    }

    /// With another line.
    pub(crate) fn and(mut self, found: impl Into<String>) -> Self {
        self.found.push(found.into());
        self
    }

    /// With a figure.
    pub(crate) fn with(mut self, name: &str, value: f64) -> Self {
        self.figures.insert(name.to_owned(), value);
        self
    }
}
