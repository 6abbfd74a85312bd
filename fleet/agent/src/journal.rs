//! Incidents that are acknowledged and not yet in the archive, on disk.
//!
//! One file is open and grows by a line an incident, each flushed to the disk before it counts. A file that is
//! sealed does not change any more; its number names an object of the archive, and is never used again. A line
//! that a crash cut was not acknowledged, and is dropped.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use whyoom_files::{private, untrusted};
use whyoom_incident::Incident;
use whyoom_logs::Position;

use crate::drops::DropId;

const OPEN: &str = "open";
const SEALED: &str = "sealed";

/// A line: an incident, and what was read for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The incident.
    pub incident: Incident,
    /// Where the log is to be read on.
    pub position: Option<Position>,
    /// What was dropped by a framework and is judged.
    pub dropped: Option<DropId>,
}

/// Why an incident could not be acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It holds as much as it may.
    #[error("the journal is full: {bytes} bytes wait for the archive")]
    Full {
        /// What it holds.
        bytes: u64,
    },
    /// The disk refused.
    #[error("the journal: {0}")]
    Disk(#[from] io::Error),
    /// An incident that cannot be written as a line.
    #[error("the journal: {0}")]
    Line(#[from] serde_json::Error),
}

/// The journal.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    capacity: u64,
    /// The number of the next file.
    next: u64,
    open: Option<Open>,
    sealed: Vec<Sealed>,
    /// What an earlier agent left open.
    left: Vec<(u64, PathBuf)>,
}

#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    number: u64,
    bytes: u64,
}

/// A file that waits for the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Its number.
    pub number: u64,
    path: PathBuf,
    bytes: u64,
}

impl Journal {
    /// Opens the journal of a folder, and returns what was acknowledged and not sealed: what was read for those
    /// must not be read again. Save that, then call [`Journal::seal_left`].
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn open(folder: &Path, capacity: u64) -> Result<(Self, Vec<Entry>), JournalError> {
        if !folder.exists() {
            private::create_folder(folder)?;
        }
        let mut journal = Self {
            folder: folder.to_owned(),
            capacity,
            next: 1,
            open: None,
            sealed: Vec::new(),
            left: Vec::new(),
        };
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(number) = number_of(&path) else { continue };
            journal.next = journal.next.max(number + 1);
            match path.extension().and_then(|kind| kind.to_str()) {
                Some(SEALED) => journal.add_sealed(number, path)?,
                Some(OPEN) => journal.left.push((number, path)),
                _ => {}
            }
        }
        journal.next = journal.next.max(journal.counted()?);
        let mut entries = Vec::new();
        for (_, path) in &journal.left {
            entries.extend(parse(&untrusted::read_entry(path, u64::MAX)?));
        }
        journal.sealed.sort_by_key(|sealed| sealed.number);
        Ok((journal, entries))
    }

    /// Seals what an earlier agent left open.
    ///
    /// # Errors
    /// Where a file cannot be renamed.
    pub fn seal_left(&mut self) -> Result<(), JournalError> {
        for (number, path) in std::mem::take(&mut self.left) {
            if parse(&untrusted::read_entry(&path, u64::MAX)?).is_empty() {
                fs::remove_file(&path)?;
            } else {
                self.seal_file(number, &path)?;
            }
        }
        self.sealed.sort_by_key(|sealed| sealed.number);
        Ok(())
    }

    /// The number that is kept beside the files: those that are gone had numbers, too.
    fn counted(&self) -> Result<u64, JournalError> {
        match untrusted::read_entry(&self.folder.join("next"), 64) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                text.trim().parse().map_err(|_| io::Error::other("next: not a number").into())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(1),
            Err(error) => Err(error.into()),
        }
    }

    /// Acknowledges an incident: when this returns, it is on the disk.
    ///
    /// # Errors
    /// Where there is no room. Nothing of it is kept then; try again.
    pub fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let bytes = self.bytes();
        if bytes + line.len() as u64 > self.capacity {
            return Err(JournalError::Full { bytes });
        }
        let open = self.opened()?;
        let written = open.file.write_all(&line).and_then(|()| open.file.sync_data());
        if let Err(error) = written {
            // What was written of it goes. Where that fails, too, the next begins another file: a line that is
            // no entry was never acknowledged, and is passed over.
            if open.file.set_len(open.bytes).is_err() {
                self.seal()?;
            }
            return Err(error.into());
        }
        open.bytes += line.len() as u64;
        Ok(())
    }

    fn opened(&mut self) -> Result<&mut Open, JournalError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.create()?,
        };
        Ok(self.open.insert(open))
    }

    fn create(&mut self) -> Result<Open, JournalError> {
        let number = self.next;
        // Before the file, so that no crash lets a number be used twice.
        private::replace(&self.folder.join("next"), (number + 1).to_string())?;
        self.next = number + 1;
        let path = self.folder.join(format!("{number:010}.{OPEN}"));
        private::create_file(&path)?;
        // Adding at its end: what is cut off after a full disk leaves no hole.
        let file = private::append_to(&path)?;
        Ok(Open { file, path, number, bytes: 0 })
    }

    /// Seals what is open. Whatever was read for it must not be read again from now on: save positions first.
    ///
    /// # Errors
    /// Where the file cannot be renamed.
    pub fn seal(&mut self) -> Result<(), JournalError> {
        let open = self.open.as_ref().filter(|open| open.bytes > 0);
        let Some((number, path)) = open.map(|open| (open.number, open.path.clone())) else {
            return Ok(());
        };
        self.seal_file(number, &path)?;
        self.open = None;
        Ok(())
    }

    fn seal_file(&mut self, number: u64, path: &Path) -> Result<(), JournalError> {
        let sealed = path.with_extension(SEALED);
        fs::rename(path, &sealed)?;
        self.add_sealed(number, sealed)
    }

    fn add_sealed(&mut self, number: u64, path: PathBuf) -> Result<(), JournalError> {
        let bytes = fs::metadata(&path)?.len();
        self.sealed.push(Sealed { number, path, bytes });
        Ok(())
    }

    /// Whether anything is acknowledged and not sealed.
    #[must_use]
    pub fn has_open(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.bytes > 0)
    }

    /// What waits for the archive, the oldest first.
    #[must_use]
    pub fn sealed(&self) -> &[Sealed] {
        &self.sealed
    }

    /// The archive has it.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub fn remove(&mut self, number: u64) -> Result<(), JournalError> {
        if let Some(at) = self.sealed.iter().position(|sealed| sealed.number == number) {
            fs::remove_file(&self.sealed[at].path)?;
            self.sealed.remove(at);
        }
        Ok(())
    }

    /// What is not sealed.
    #[must_use]
    pub fn open_bytes(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.bytes)
    }

    /// What it may hold.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What it holds on the disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(|sealed| sealed.bytes).sum();
        sealed + self.open_bytes()
    }
}

impl Sealed {
    /// What is in it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn incidents(&self) -> Result<Vec<Incident>, JournalError> {
        let bytes = untrusted::read_entry(&self.path, u64::MAX)?;
        Ok(parse(&bytes).into_iter().map(|entry| entry.incident).collect())
    }
}

/// What is no entry was never acknowledged.
fn parse(bytes: &[u8]) -> Vec<Entry> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::some_incident;
