//! The journal of systemd. Its files are not for reading by others, so `journalctl` reads them; what units and
//! containers printed becomes a plain log of each, which is followed as every log is.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde::Deserialize;
use whyoom_files::{private, untrusted};

use crate::{follow::Start, origin::JOURNALD, walk::Pattern};

/// Where the journal was read to.
const CURSOR: &str = "cursor";
/// A longer cursor is none.
const LONGEST_CURSOR: u64 = 4 << 10;
/// Read from `journalctl` at once, and in a round.
const CHUNK: usize = 256 << 10;
const MOST_BYTES: usize = 16 << 20;
/// A longer entry is passed over.
const LONGEST_ENTRY: usize = 4 << 20;
/// A log is begun anew behind so much; what is read of the old one goes on.
const LONGEST_LOG: u64 = 8 << 20;
/// Who prints nothing for so long has printed all that there is.
const QUIET: Duration = Duration::from_secs(2);
/// Where `journalctl` has ended, it is started again after as long.
const AGAIN: Duration = Duration::from_secs(10);
/// More units than this are not told apart: the log that was not written to for longest is removed.
const MOST_LOGS: usize = 512;

/// `journalctl`, and the logs that are made of what it prints.
#[derive(Debug)]
pub struct Journald {
    /// The folder of the journal's files.
    journal: PathBuf,
    folder: PathBuf,
    start: Start,
    running: Option<(Child, ChildStdout)>,
    /// What was read and is no whole entry yet.
    rest: Vec<u8>,
    /// Whether the rest of an entry that is too long is passed over.
    is_passing: bool,
    /// When something was last read.
    read: Instant,
    /// When it has ended.
    ended: Option<Instant>,
    /// Whether there are logs that were not there before.
    pub has_new_logs: bool,
    /// Entries that were too long, and times that `journalctl` ended.
    pub failures: u64,
}

/// An entry, as far as it is used. Names that begin with `_` are the journal's own; a program cannot choose them.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "__CURSOR")]
    cursor: String,
    #[serde(rename = "MESSAGE")]
    message: Option<Message>,
    #[serde(rename = "_SYSTEMD_UNIT")]
    unit: Option<String>,
    #[serde(rename = "CONTAINER_NAME")]
    container: Option<String>,
}

/// A message; one that is no text is an array of bytes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Message {
    Text(String),
    Bytes(Vec<u8>),
}

impl Journald {
    /// Reads the journal in a folder, from where it was read to. The logs are below `state`.
    ///
    /// # Errors
    /// Where the folder of the logs cannot be made.
    pub fn new(journal: PathBuf, state: &Path, start: Start) -> io::Result<Self> {
        let folder = state.join(JOURNALD);
        if !folder.is_dir() {
            private::create_folder(&folder)?;
        }
        Ok(Self {
            journal,
            folder,
            start,
            running: None,
            rest: Vec::new(),
            is_passing: false,
            read: Instant::now(),
            ended: None,
            has_new_logs: false,
            failures: 0,
        })
    }

    /// The logs that are made.
    ///
    /// # Errors
    /// Never, unless the state's path is a pattern.
    pub fn pattern(state: &Path) -> Result<Pattern, glob::PatternError> {
        Pattern::new(&state.join(JOURNALD).join("*/*.log"))
    }

    /// Takes what `journalctl` has printed, without waiting for more. Who does not call it lets `journalctl` wait.
    ///
    /// # Errors
    /// Where `journalctl` cannot be started, or a log cannot be written.
    pub fn pump(&mut self) -> io::Result<()> {
        let mut cursor = None;
        for _ in 0..MOST_BYTES / CHUNK {
            if !self.read()? {
                break;
            }
            cursor = self.take_entries()?.or(cursor);
        }
        match cursor {
            Some(cursor) => private::replace(&self.folder.join(CURSOR), cursor),
            None => Ok(()),
        }
    }

    /// Whether all that there is was taken.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.has_new_logs && self.read.elapsed() >= QUIET
    }

    /// Whether something was read.
    fn read(&mut self) -> io::Result<bool> {
        if self.ended.is_some_and(|ended| ended.elapsed() < AGAIN) {
            return Ok(false);
        }
        let (child, output) = match &mut self.running {
            Some(running) => running,
            none => none.insert(spawn(&self.journal, &self.folder, self.start)?),
        };
        let at = self.rest.len();
        self.rest.resize(at + CHUNK, 0);
        let read = output.read(&mut self.rest[at..]);
        self.rest.truncate(at + read.as_ref().copied().unwrap_or(0));
        match read {
            // It has ended.
            Ok(0) => {
                child.wait()?;
                (self.running, self.rest, self.is_passing) = (None, Vec::new(), false);
                self.failures += 1;
                self.ended = Some(Instant::now());
                Ok(false)
            }
            Ok(_) => {
                self.read = Instant::now();
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes whole entries to their logs. Returns the place of the last.
    fn take_entries(&mut self) -> io::Result<Option<String>> {
        let mut cursor = None;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            if std::mem::take(&mut self.is_passing) {
                continue;
            }
            // What is no entry is passed over; the next is one.
            let Ok(entry) = serde_json::from_slice::<Entry>(line) else { continue };
            self.write(&entry)?;
            cursor = Some(entry.cursor);
        }
        if self.rest.len() > LONGEST_ENTRY {
            self.rest.clear();
            self.failures += u64::from(!self.is_passing);
            self.is_passing = true;
        }
        Ok(cursor)
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let text = match &entry.message {
            Some(Message::Text(text)) => text.as_bytes(),
            Some(Message::Bytes(bytes)) => bytes,
            None => return Ok(()),
        };
        let unit = plain(entry.unit.as_deref().unwrap_or("-"));
        let container = plain(entry.container.as_deref().unwrap_or("-"));
        let folder = self.folder.join(unit);
        let path = folder.join(container + ".log");
        self.has_new_logs |= !path.exists();
        let mut log = match private::append_to(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_room()?;
                private::create_folder(&folder)?;
                private::append_to(&path)?
            }
            opened => opened?,
        };
        if log.metadata()?.len() > LONGEST_LOG {
            fs::rename(&path, path.with_extension("log.1"))?;
            log = private::append_to(&path)?;
        }
        log.write_all(&[text, b"\n"].concat())
    }

    /// Removes the folder that was not written to for longest, where there are too many.
    fn make_room(&self) -> io::Result<()> {
        let mut folders: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push((newest(&entry.path())?, entry.path()));
            }
        }
        if folders.len() >= MOST_LOGS
            && let Some((_, oldest)) = folders.iter().min()
        {
            fs::remove_dir_all(oldest)?;
        }
        Ok(())
    }
}

impl Drop for Journald {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.running {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn newest(folder: &Path) -> io::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(folder)? {
        newest = newest.max(entry?.metadata()?.modified()?);
    }
    Ok(newest)
}

/// `journalctl`, behind what was read; it does not make this process wait.
fn spawn(journal: &Path, folder: &Path, start: Start) -> io::Result<(Child, ChildStdout)> {
    let mut command = Command::new("journalctl");
    command.arg("--directory").arg(journal);
    command.args(["--follow", "--all", "--quiet", "--output=json"]);
    command.arg("--output-fields=MESSAGE,_SYSTEMD_UNIT,CONTAINER_NAME");
    match untrusted::read_entry(&folder.join(CURSOR), LONGEST_CURSOR) {
        Ok(cursor) => {
            let cursor = String::from_utf8_lossy(&cursor).into_owned();
            command.args(["--lines=all", "--after-cursor", &cursor]);
        }
        Err(_) if start == Start::Now => drop(command.arg("--lines=0")),
        Err(_) => drop(command.arg("--lines=all")),
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let flags = fcntl_getfl(&output)?;
    fcntl_setfl(&output, flags | OFlags::NONBLOCK)?;
    Ok((child, output))
}

/// A name of a file, whatever a unit is called.
fn plain(name: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-' | '@');
    let name: String =
        name.chars().map(|one| if is_plain(one) { one } else { '_' }).take(100).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(cursor: &str, rest: &str) -> String {
        format!("{{\"__CURSOR\":\"{cursor}\",{rest}}}\n")
    }

    #[test]
    fn units_and_containers_have_a_log_each() {
        let state = tempfile::tempdir().unwrap();
        let mut journald = Journald::new("/nowhere".into(), state.path(), Start::First).unwrap();
        let lines = [
            entry("1", r#""MESSAGE":"one","_SYSTEMD_UNIT":"train.service""#),
            entry("2", r#""MESSAGE":[116,119,111],"_SYSTEMD_UNIT":"train.service""#),
            entry(
                "3",
                r#""MESSAGE":"x","_SYSTEMD_UNIT":"docker.service","CONTAINER_NAME":"../vllm""#,
            ),
            entry("4", r#""_SYSTEMD_UNIT":"silent.service""#),
            "no entry\n".to_owned(),
        ];
        journald.rest = lines.concat().into_bytes();
        journald.rest.extend(b"{\"__CURSOR\":\"5");
        assert_eq!(journald.take_entries().unwrap().as_deref(), Some("4"));
        let read = |path: &str| fs::read_to_string(state.path().join(JOURNALD).join(path)).unwrap();
        assert_eq!(read("train.service/-.log"), "one\ntwo\n");
        assert_eq!(read("docker.service/_.._vllm.log"), "x\n");
        assert_eq!(journald.rest, b"{\"__CURSOR\":\"5", "it may go on");
    }

    #[test]
    fn an_entry_that_is_too_long_is_passed_over() {
        let state = tempfile::tempdir().unwrap();
        let mut journald = Journald::new("/nowhere".into(), state.path(), Start::First).unwrap();
        journald.rest = vec![b'x'; LONGEST_ENTRY + 1];
        assert_eq!(journald.take_entries().unwrap(), None);
        assert!(journald.rest.is_empty());
        journald.rest = format!("x\"}}\n{}", entry("2", r#""MESSAGE":"y""#)).into_bytes();
        assert_eq!(journald.take_entries().unwrap().as_deref(), Some("2"));
        assert_eq!(journald.failures, 1);
    }

    #[test]
    fn a_log_is_begun_anew() {
        let state = tempfile::tempdir().unwrap();
        let mut journald = Journald::new("/nowhere".into(), state.path(), Start::First).unwrap();
        let folder = state.path().join(JOURNALD).join("-");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("-.log"), vec![b'x'; LONGEST_LOG as usize + 1]).unwrap();
        journald.rest = entry("1", r#""MESSAGE":"y""#).into_bytes();
        journald.take_entries().unwrap();
        assert_eq!(fs::read(folder.join("-.log")).unwrap(), b"y\n");
        assert!(folder.join("-.log.1").exists());
    }
}
