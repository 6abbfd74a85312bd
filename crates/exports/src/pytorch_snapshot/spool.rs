//! What has to wait until the end: in memory while it is little, then in the store of the export.

use std::io::{self, SeekFrom};

use whyoom_trace::{Address, Bytes, PoolId, StackId, StreamId, Time};

use crate::format::{MakeStore, Store};

/// Of all histories together, so much waits in memory.
const IN_MEMORY: usize = 16 << 20;

/// One entry of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) action: EntryAction,
    /// Of a failure: what the device had free.
    pub(super) address: Address,
    pub(super) size: Bytes,
    pub(super) stream: StreamId,
    pub(super) pool: PoolId,
    pub(super) stack: StackId,
    pub(super) time: Time,
}

/// What PyTorch calls what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EntryAction {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    OutOfMemory,
}

impl EntryAction {
    const ALL: [Self; 9] = [
        Self::Alloc,
        Self::FreeRequested,
        Self::FreeCompleted,
        Self::SegmentAlloc,
        Self::SegmentFree,
        Self::SegmentMap,
        Self::SegmentUnmap,
        Self::Snapshot,
        Self::OutOfMemory,
    ];

    /// PyTorch's word.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Alloc => "alloc",
            Self::FreeRequested => "free_requested",
            Self::FreeCompleted => "free_completed",
            Self::SegmentAlloc => "segment_alloc",
            Self::SegmentFree => "segment_free",
            Self::SegmentMap => "segment_map",
            Self::SegmentUnmap => "segment_unmap",
            Self::Snapshot => "snapshot",
            Self::OutOfMemory => "oom",
        }
    }
}

const ENTRY_BYTES: usize = 41;

impl Entry {
    fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[0] = self.action as u8;
        bytes[1..5].copy_from_slice(&self.stack.0.to_le_bytes());
        bytes[5..9].copy_from_slice(&self.pool.0.to_le_bytes());
        let wide = [self.address.0, self.size.0, self.stream.0, self.time.0];
        for (slot, number) in bytes[9..].chunks_exact_mut(8).zip(wide) {
            slot.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let narrow =
            |from: usize| Some(u32::from_le_bytes(bytes.get(from..from + 4)?.try_into().ok()?));
        let wide =
            |from: usize| Some(u64::from_le_bytes(bytes.get(from..from + 8)?.try_into().ok()?));
        Some(Self {
            action: *EntryAction::ALL.get(usize::from(bytes[0]))?,
            stack: StackId(narrow(1)?),
            pool: PoolId(narrow(5)?),
            address: Address(wide(9)?),
            size: Bytes(wide(17)?),
            stream: StreamId(wide(25)?),
            time: Time(wide(33)?),
        })
    }
}

/// One history: what of it is in memory, and where in the store the rest lies.
#[derive(Default)]
pub(super) struct Lane {
    recent: Vec<u8>,
    /// Where each piece begins, and its length.
    pieces: Vec<(u64, usize)>,
}

impl Lane {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The store that all histories share.
pub(super) struct Spool {
    make: Option<MakeStore>,
    store: Option<Box<dyn Store>>,
    length: u64,
    in_memory: usize,
}

impl Spool {
    pub(super) fn new(make: MakeStore) -> Self {
        Self { make: Some(make), store: None, length: 0, in_memory: 0 }
    }

    /// Adds an entry; says whether it is time to move everything into the store.
    pub(super) fn push(&mut self, lane: &mut Lane, entry: Entry) -> bool {
        lane.recent.extend_from_slice(&entry.to_bytes());
        self.in_memory += ENTRY_BYTES;
        self.in_memory >= IN_MEMORY
    }

    /// Moves what is in memory into the store.
    pub(super) fn flush<'a>(
        &mut self,
        lanes: impl Iterator<Item = &'a mut Lane>,
    ) -> io::Result<()> {
        for lane in lanes.filter(|lane| !lane.recent.is_empty()) {
            if let Some(make) = self.make.take() {
                self.store = Some(make()?);
            }
            // The first error ends the export: nothing comes after it.
            let Some(store) = &mut self.store else { return Err(io::ErrorKind::NotFound.into()) };
            let piece = std::mem::take(&mut lane.recent);
            store.seek(SeekFrom::Start(self.length))?;
            store.write_all(&piece)?;
            lane.pieces.push((self.length, piece.len()));
            self.length += piece.len() as u64;
        }
        self.in_memory = 0;
        Ok(())
    }

    /// Reads a history from its start.
    pub(super) fn read(
        &mut self,
        lane: &Lane,
        mut take: impl FnMut(Entry) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut take_all = |bytes: &[u8]| {
            let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
            entries.iter().filter_map(Entry::from_bytes).try_for_each(&mut take)
        };
        for &(start, length) in &lane.pieces {
            let mut piece = vec![0; length];
            if let Some(store) = &mut self.store {
                store.seek(SeekFrom::Start(start))?;
                store.read_exact(&mut piece)?;
            }
            take_all(&piece)?;
        }
        take_all(&lane.recent)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn entry(number: u64) -> Entry {
        Entry {
            action: EntryAction::ALL[number as usize % 9],
            address: Address(number << 9),
            size: Bytes(u64::MAX - number),
            stream: StreamId(7),
            pool: PoolId(3),
            stack: StackId(number as u32),
            time: Time(number),
        }
    }

    #[test]
    fn histories_come_back_in_order_from_store_and_memory() {
        let mut spool = Spool::new(Box::new(|| Ok(Box::new(Cursor::new(Vec::new())))));
        let mut lanes = [Lane::default(), Lane::default()];
        for number in 0..600_000 {
            if spool.push(&mut lanes[number as usize % 2], entry(number)) {
                spool.flush(lanes.iter_mut()).unwrap();
            }
        }
        assert!(lanes[1].pieces.len() == 1 && !lanes[1].recent.is_empty());
        let mut next = 1;
        let check = |found: Entry| {
            assert_eq!(found, entry(next));
            next += 2;
            Ok(())
        };
        spool.read(&lanes[1], check).unwrap();
        assert_eq!(next, 600_001);
        lanes[1].clear();
        spool.read(&lanes[1], |_| Err(io::Error::other("nothing is left"))).unwrap();
    }
}
