//! How the program ended, as its starter saw it: `run.json`.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};
use whyoom_files::{folder::Folder, private};
use whyoom_redact::mask_words;
use whyoom_trace::{Bytes, Counter, Symptom};

/// The file's name in the recording's folder.
pub const ENDING: &str = "run.json";
/// Bytes of the file that are read: the kernel allows 6 MiB of arguments at most.
pub const MAX_ENDING_BYTES: u64 = 8 << 20;
/// The signal that nothing can catch.
const KILL: i32 = 9;
/// What shells and containers report for it.
const KILLED_STATUS: i32 = 137;
/// What shells add to a signal's number.
const SHELL_REPORTS: i32 = 128;
/// Numbers beyond this are no signals.
const MOST_SIGNALS: i32 = 64;

/// How the program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The command, as it was typed; in the file without its secrets.
    pub command: Vec<String>,
    /// The process that was started.
    pub pid: u32,
    /// When it ended, in nanoseconds since 1970.
    pub time: u64,
    /// Its exit status; nothing where a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How many processes of the whole machine the kernel killed because host memory ran out meanwhile;
    /// nothing where it does not tell.
    pub killed_for_memory: Option<u64>,
    /// How many of them were in the control group that the program was started in.
    pub killed_in_group: Option<u64>,
    /// What that group may have of host memory; nothing where that is not limited or not told.
    #[serde(default)]
    pub group_limit: Option<u64>,
    /// The most that it had.
    #[serde(default)]
    pub group_peak: Option<u64>,
    /// Whether its GPUs were simulated.
    #[serde(default)]
    pub simulated: bool,
    /// What `--apply` ran it once more with, and what came of it.
    #[serde(default)]
    pub applied: Option<Applied>,
    /// True if nothing was recorded, and the disk had no room for a recording when the program had ended.
    #[serde(default)]
    pub disk_full: bool,
    /// The kernel's boot ID when it ran. `None` in a file of an older version, and if the kernel has none.
    #[serde(default)]
    pub boot_id: Option<String>,
}

/// A second run with one thing changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The allocator's setting; nothing for whyoom's own pool.
    pub setting: Option<String>,
    /// Whether memory lasted, and the program succeeded.
    pub succeeded: bool,
}

impl Ending {
    /// Writes it into a recording's folder.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        private::write(&folder.join(ENDING), serde_json::to_vec_pretty(&self.clone().masked())?)
    }

    /// Reads that of a recording's folder; nothing where there is none, or none that is whole.
    #[must_use]
    pub fn read(folder: impl Into<Folder>) -> Option<Self> {
        let text = folder.into().entry(ENDING).read(MAX_ENDING_BYTES).ok()?;
        serde_json::from_slice(&text).ok().map(Self::masked)
    }

    /// Returns true if the file of a recording's folder was begun and not written to its end, as on a full disk.
    pub(super) fn is_cut(folder: &Folder) -> bool {
        let Ok(text) = folder.entry(ENDING).read(MAX_ENDING_BYTES) else { return false };
        serde_json::from_slice::<Self>(&text).is_err_and(|error| error.is_eof())
    }

    /// Without secrets in the command; an older file may have them.
    fn masked(mut self) -> Self {
        self.command = mask_words(&self.command);
        self
    }

    /// The signal that ended it, as far as it is not the one that nothing can catch. A shell that started it
    /// reports 128 and the signal.
    pub(super) fn ended_by(&self) -> Option<i32> {
        let reported = self.status.map(|status| status - SHELL_REPORTS);
        let signal = self.signal.or(reported.filter(|signal| (1..=MOST_SIGNALS).contains(signal)));
        signal.filter(|signal| *signal != KILL)
    }

    /// The status that it failed with; that of a shell for one that was killed.
    pub(super) fn failed_with(&self) -> Option<i32> {
        let status = match self.signal {
            Some(KILL) => Some(KILLED_STATUS),
            Some(_) => None,
            None => self.status,
        };
        status.filter(|status| *status != 0 && self.ended_by().is_none())
    }

    /// What the group of the program had, where it was killed for that.
    pub(super) fn group_memory(&self) -> impl Iterator<Item = (Counter, Bytes)> + use<> {
        let killed = self.killed_in_group.is_some_and(|many| many > 0);
        let figures =
            [(Counter::HostLimit, self.group_limit), (Counter::HostResident, self.group_peak)];
        let told = figures.into_iter().filter(move |_| killed);
        told.filter_map(|(counter, bytes)| Some((counter, Bytes(bytes?))))
    }

    /// What the ending tells of host memory, in a symptom and in words.
    pub(super) fn symptom(&self) -> Option<(Symptom, String)> {
        let how = match (self.signal, self.status) {
            (Some(KILL), _) => "killed by signal 9".to_owned(),
            (_, Some(KILLED_STATUS)) => format!("ended with status {KILLED_STATUS}"),
            _ => return None,
        };
        match (self.killed_in_group, self.killed_for_memory) {
            (Some(many @ 1..), _) => Some((
                Symptom::HostKilled,
                format!(
                    "{how}; the kernel counts {many} kills by the OOM killer in its control \
                     group meanwhile"
                ),
            )),
            // Somebody else killed it.
            (_, Some(0)) => None,
            // They may have been others.
            (_, Some(many)) => Some((
                Symptom::Killed,
                format!(
                    "{how}; the kernel counts {many} kills by the OOM killer on the whole \
                     machine meanwhile"
                ),
            )),
            (_, None) => Some((Symptom::Killed, how)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_group_convicts_the_kernel() {
        let told = |killed_for_memory, killed_in_group| {
            let ending = Ending { signal: Some(KILL), ..Ending::default() };
            let ending = Ending { killed_for_memory, killed_in_group, ..ending };
            ending.symptom().map(|(symptom, _)| symptom)
        };
        assert_eq!(told(Some(2), Some(1)), Some(Symptom::HostKilled));
        assert_eq!(told(Some(2), Some(0)), Some(Symptom::Killed));
        assert_eq!(told(Some(2), None), Some(Symptom::Killed));
        assert_eq!(told(None, None), Some(Symptom::Killed));
        assert_eq!(told(Some(0), Some(0)), None);
    }

    #[test]
    fn a_signal_is_known_by_itself_or_by_the_shells_status() {
        let ended = |signal, status| Ending { signal, status, ..Ending::default() }.ended_by();
        let failed = |signal, status| Ending { signal, status, ..Ending::default() }.failed_with();
        assert_eq!(failed(Some(KILL), None), Some(KILLED_STATUS));
        assert_eq!(failed(None, Some(1)), Some(1));
        assert_eq!((failed(None, Some(0)), failed(Some(14), None)), (None, None));
        assert_eq!(ended(Some(14), None), Some(14));
        assert_eq!(ended(None, Some(128 + 15)), Some(15));
        assert_eq!(ended(Some(KILL), None), None);
        assert_eq!(ended(None, Some(KILLED_STATUS)), None);
        assert_eq!(
            (ended(None, Some(1)), ended(None, Some(128)), ended(None, Some(255))),
            (None, None, None)
        );
    }

    #[test]
    fn a_file_that_was_not_written_to_its_end_is_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let is_cut = || Ending::is_cut(&Folder::from(folder.path()));
        assert!(!is_cut(), "there is none");
        Ending::default().write(folder.path()).expect("it is written");
        assert!(!is_cut());
        for (text, cut) in [("", true), ("{\"command\":[", true), ("{}", false), ("text", false)] {
            std::fs::write(folder.path().join(ENDING), text).expect("it is written");
            assert_eq!(is_cut(), cut, "{text:?}");
        }
    }

    #[test]
    fn an_older_file_is_read() {
        let older =
            r#"{"command":[],"pid":7,"time":1,"status":null,"signal":9,"killed_for_memory":1}"#;
        let ending: Ending = serde_json::from_str(older).expect("a whole file");
        assert_eq!((ending.killed_for_memory, ending.killed_in_group), (Some(1), None));
        assert!(!ending.disk_full);
    }
}
