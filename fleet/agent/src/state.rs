//! What the agent remembers: who it is, and how far it has read.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use whyoom_files::{private, untrusted};
use whyoom_logs::{Position, Positions};

use crate::{drops::DropId, journal::Entry};

/// A longer file is none of ours.
const LONGEST: u64 = 64 << 20;
/// Letters of an agent's name.
const NAME: usize = 12;

/// Of an agent that was killed, a process that it had just started may hold the lock for a moment.
const PATIENCE: Duration = Duration::from_secs(5);

/// How far everything was read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Checkpoint {
    positions: Vec<Position>,
    /// What was dropped by frameworks and is judged.
    pub(crate) drops: BTreeSet<DropId>,
}

impl Checkpoint {
    pub(crate) fn new(positions: Positions, drops: BTreeSet<DropId>) -> Self {
        Self { positions: positions.into_values().collect(), drops }
    }

    /// What was acknowledged after it was saved counts, too.
    pub(crate) fn add(&mut self, entry: &Entry) {
        if let Some(position) = &entry.position {
            match self.positions.iter_mut().find(|one| one.id == position.id) {
                Some(one) if position.is_after(one) => *one = position.clone(),
                Some(_) => {}
                None => self.positions.push(position.clone()),
            }
        }
        self.drops.extend(entry.dropped);
    }

    pub(crate) fn positions(&self) -> Positions {
        self.positions.iter().map(|one| (one.id, one.clone())).collect()
    }
}

/// The folder that it remembers in.
#[derive(Debug)]
pub(crate) struct State {
    folder: PathBuf,
    /// Held as long as the agent lives: two would write over each other.
    _lock: File,
}

impl State {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        match folder.exists() {
            true => private::adopt_folder(folder)?,
            false => {
                fs::create_dir_all(folder.parent().unwrap_or(Path::new(".")))?;
                private::create_folder(folder)?;
            }
        }
        let lock = private::append_to(&folder.join("lock"))?;
        let until = Instant::now() + PATIENCE;
        while rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > until {
                let used = format!("{}: another agent uses it", folder.display());
                return Err(io::Error::other(used));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(Self { folder: folder.to_owned(), _lock: lock })
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// The agent's own name, made once by chance: a node that is set up anew is another agent.
    pub(crate) fn agent(&self) -> io::Result<String> {
        let path = self.folder.join("agent");
        match untrusted::read_entry(&path, 64) {
            Ok(name) => Ok(String::from_utf8_lossy(&name).trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let uuid = whyoom_files::kernel::text("/proc/sys/kernel/random/uuid")?;
                let name: String =
                    uuid.chars().filter(char::is_ascii_hexdigit).take(NAME).collect();
                private::replace(&path, &name)?;
                Ok(name)
            }
            Err(error) => Err(error),
        }
    }

    /// What was saved; nothing at the very first start.
    pub(crate) fn checkpoint(&self) -> io::Result<Option<Checkpoint>> {
        match untrusted::read_entry(&self.folder.join("checkpoint.json"), LONGEST) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn save(&self, checkpoint: &Checkpoint) -> io::Result<()> {
        private::replace(&self.folder.join("checkpoint.json"), serde_json::to_vec(checkpoint)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_keeps_its_name_and_what_it_read() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("a/b")).unwrap();
        let name = state.agent().unwrap();
        assert_eq!(name.len(), NAME);
        assert_eq!(state.agent().unwrap(), name);
        assert!(state.checkpoint().unwrap().is_none());
        state.save(&Checkpoint::default()).unwrap();
        assert!(state.checkpoint().unwrap().is_some());
        assert!(State::open(&folder.path().join("a/b")).is_err(), "one agent at a time");
    }
}
