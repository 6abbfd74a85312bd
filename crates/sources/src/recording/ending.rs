//! How the program ended, as its starter saw it: `run.json`.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};
use whyoom_trace::Symptom;

/// The file's name in the recording's folder.
pub const ENDING: &str = "run.json";
/// The signal that nothing can catch.
const KILL: i32 = 9;
/// What shells and containers report for it.
const KILLED_STATUS: i32 = 137;

/// How the program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The command, as it was typed.
    pub command: Vec<String>,
    /// The process that was started.
    pub pid: u32,
    /// When it ended, in nanoseconds since 1970.
    pub time: u64,
    /// Its exit status; nothing where a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How many processes the kernel killed for want of host memory meanwhile; nothing where it does
    /// not tell.
    pub killed_for_memory: Option<u64>,
}

impl Ending {
    /// Writes it into a recording's folder.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(ENDING), serde_json::to_vec_pretty(self)?)
    }

    /// Reads that of a recording's folder; nothing where there is none, or none that is whole.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(ENDING)).ok()?).ok()
    }

    /// What the ending tells of host memory, in a symptom and in words.
    pub(super) fn symptom(&self) -> Option<(Symptom, String)> {
        let how = match (self.signal, self.status) {
            (Some(KILL), _) => "killed by signal 9".to_owned(),
            (_, Some(KILLED_STATUS)) => format!("ended with status {KILLED_STATUS}"),
            _ => return None,
        };
        match self.killed_for_memory {
            // Somebody else killed it.
            Some(0) => None,
            Some(many) => Some((
                Symptom::HostKilled,
                format!("{how}; the kernel counts {many} kills for want of host memory meanwhile"),
            )),
            None => Some((Symptom::Killed, how)),
        }
    }
}
