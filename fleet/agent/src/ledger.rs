//! What is acknowledged and how far was read, kept together: what is sealed is never read again.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use whyoom_logs::Positions;

use crate::{
    drops::DropId,
    journal::{Entry, Journal, JournalError, Sealed},
    state::{Checkpoint, State},
};

/// The journal, with what was read for it.
#[derive(Debug)]
pub(crate) struct Ledger {
    state: State,
    journal: Journal,
    /// What a new agent would begin with: what was saved last, and what was acknowledged since.
    checkpoint: Checkpoint,
}

/// One that several threads use.
pub(crate) type Shared = Arc<Mutex<Ledger>>;

/// Whoever panicked has not left a half: each step is one call.
pub(crate) fn lock(ledger: &Shared) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    /// Opens what an earlier agent left. Returns how far it had read; nothing at the very first start.
    pub(crate) fn open(
        state: State,
        capacity: u64,
    ) -> Result<(Self, Option<Checkpoint>), JournalError> {
        let (journal, left) = Journal::open(&state.journal(), capacity)?;
        let saved = state.checkpoint()?;
        let is_first = saved.is_none() && left.is_empty();
        let mut checkpoint = saved.unwrap_or_default();
        left.iter().for_each(|entry| checkpoint.add(entry));
        let mut ledger = Self { state, journal, checkpoint };
        if !left.is_empty() {
            ledger.state.save(&ledger.checkpoint)?;
        }
        ledger.journal.seal_left()?;
        let known = (!is_first).then(|| ledger.checkpoint.clone());
        Ok((ledger, known))
    }

    /// Acknowledges an incident.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        self.journal.append(entry)?;
        self.checkpoint.add(entry);
        Ok(())
    }

    /// Saves how far everything was read. Only while nothing waits to be acknowledged.
    pub(crate) fn save(
        &mut self,
        positions: Positions,
        drops: BTreeSet<DropId>,
    ) -> Result<(), JournalError> {
        self.checkpoint = Checkpoint::new(positions, drops);
        Ok(self.state.save(&self.checkpoint)?)
    }

    /// Seals what is acknowledged. First how far was read: what is sealed is forgotten once it is in the archive.
    pub(crate) fn seal(&mut self) -> Result<(), JournalError> {
        self.state.save(&self.checkpoint)?;
        self.journal.seal()
    }

    pub(crate) fn has_open(&self) -> bool {
        self.journal.has_open()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.journal.bytes()
    }

    /// Whether what is not sealed takes much of the room.
    pub(crate) fn is_half_full(&self) -> bool {
        2 * self.journal.open_bytes() > self.journal.capacity()
    }

    pub(crate) fn sealed(&self) -> Vec<Sealed> {
        self.journal.sealed().to_vec()
    }

    /// The archive has it.
    pub(crate) fn remove(&mut self, number: u64) -> Result<(), JournalError> {
        self.journal.remove(number)
    }
}

#[cfg(test)]
mod tests {
    use whyoom_logs::{FileId, Position};

    use super::*;
    use crate::journal::some_incident;

    fn entry(offset: u64) -> Entry {
        let id = FileId { device: 1, inode: 2 };
        let position =
            Position { id, path: "a".into(), generation: 0, offset, before: 0, told: offset };
        Entry { incident: some_incident(), position: Some(position), dropped: None }
    }

    /// Wherever an agent ends: what is in the journal is not read again by the next, nor by the one after.
    #[test]
    fn what_is_acknowledged_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let state = State::open(&folder.path().join("state")).unwrap();
            Ledger::open(state, 1 << 20).unwrap()
        };
        let (mut ledger, known) = open();
        assert!(known.is_none());
        ledger.append(&entry(7)).unwrap();
        drop(ledger);
        for _ in 0..2 {
            let (ledger, known) = open();
            let known = known.unwrap().positions();
            assert_eq!(known.values().map(|one| one.offset).collect::<Vec<_>>(), [7]);
            assert_eq!(ledger.sealed().len(), 1);
        }
        let (mut ledger, _) = open();
        ledger.append(&entry(9)).unwrap();
        ledger.seal().unwrap();
        for sealed in ledger.sealed() {
            ledger.remove(sealed.number).unwrap();
        }
        drop(ledger);
        let known = open().1.unwrap().positions();
        assert_eq!(known.values().map(|one| one.offset).collect::<Vec<_>>(), [9]);
    }
}
