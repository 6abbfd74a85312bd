//! What the process answered, and what is kept of it.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use whyoom_attach::Route;
use whyoom_files::private;

use crate::beside::ATTACHED;

/// How the look went, in the process's words.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Look {
    pub(super) state: State,
    /// The version of Python.
    pub(super) python: String,
    /// That of PyTorch.
    #[serde(default)]
    pub(super) torch: Option<String>,
    /// Whose history there is.
    #[serde(default)]
    pub(super) history: Option<History>,
    /// How long the program's own thread was used.
    #[serde(default)]
    pub(super) main_seconds: Option<f64>,
    /// How long the snapshot took.
    #[serde(default)]
    pub(super) snapshot_seconds: Option<f64>,
    /// How long the scan for referrers took.
    #[serde(default)]
    pub(super) referrers_seconds: Option<f64>,
    /// Whether that came to its end.
    #[serde(default)]
    pub(super) referrers_complete: Option<bool>,
    /// Whether the program was ending, and was looked at as its last act.
    #[serde(default)]
    pub(super) ended: bool,
    /// What went wrong there.
    #[serde(default)]
    pub(super) error: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    Looked,
    NoTorch,
    NoCuda,
    Failed,
}

/// Whose history it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum History {
    /// The program recorded it itself: it was left alone.
    Own,
    /// Recorded while attached, and switched off.
    Recorded,
    /// There is none.
    Off,
}

/// What is kept in the folder, beside the snapshot and the referrers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Attached {
    pub(super) pid: u32,
    /// Its program, without secrets.
    pub(super) command: Vec<String>,
    /// How the script got there.
    pub(super) route: RouteName,
    /// How long the process was stopped at most.
    pub(super) stopped_seconds: f64,
    /// How long it was watched; nothing where it was looked at once.
    pub(super) watched_seconds: Option<f64>,
    pub(super) look: Look,
}

/// How the script got into the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RouteName {
    /// Python ran it by itself.
    RemoteExec,
    /// gdb left a call for the next safe point.
    PendingCall,
    /// gdb called it on the first thread, which waited.
    WaitingThread,
}

impl From<Route> for RouteName {
    fn from(route: Route) -> Self {
        match route {
            Route::RemoteExec => Self::RemoteExec,
            Route::PendingCall => Self::PendingCall,
            Route::WaitingThread => Self::WaitingThread,
        }
    }
}

impl Attached {
    /// Writes it into a folder.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        Ok(private::write(&folder.join(ATTACHED), serde_json::to_vec_pretty(self)?)?)
    }
}
