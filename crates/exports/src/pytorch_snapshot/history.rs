//! From events to the entries of PyTorch's history, for each process and device.

use std::{collections::BTreeMap, io};

use whyoom_memory::{Change, Interface, LayerKind, Step};
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, HandleId, SegmentGrowth, StackId, Time,
};

use super::spool::{Entry, EntryAction, Lane, Spool};
use crate::{
    error::ExportError,
    format::{Latch, MakeStore},
    run::SpaceKey,
};

/// Of a process's failures the driver's own codes: none, and out of memory.
const FAILURES: [i32; 2] = [0, 2];

/// The histories of every process and device, of its blocks and of what it took from the driver: which of
/// the two is told is known at the end.
pub(super) struct Histories {
    lanes: BTreeMap<(SpaceKey, LayerKind), Lane>,
    spool: Spool,
    /// The segments that were made whole, with their sizes: their ends do not tell.
    segments: BTreeMap<(SpaceKey, Address), Bytes>,
    latch: Latch,
}

impl Histories {
    pub(super) fn new(store: MakeStore) -> Self {
        let (lanes, segments) = (BTreeMap::new(), BTreeMap::new());
        Self { lanes, spool: Spool::new(store), segments, latch: Latch::default() }
    }

    /// Takes an event of memory, and what it changed.
    pub(super) fn event(&mut self, event: &Event, changes: &[Change]) {
        let space = (event.origin.process, event.origin.device);
        match event.action {
            Action::HistoryStart => {
                // What was restored is no history; the state at the end tells of it.
                for layer in [LayerKind::Blocks, LayerKind::Driver] {
                    self.lanes.entry((space, layer)).or_default().clear();
                }
            }
            Action::SegmentAlloc { address, size, growth, .. } => {
                let expandable = growth == SegmentGrowth::Expandable;
                if !expandable {
                    self.segments.insert((space, address), size);
                }
                let made =
                    if expandable { EntryAction::SegmentMap } else { EntryAction::SegmentAlloc };
                self.push(space, LayerKind::Blocks, of_event(event, made, address, size));
            }
            Action::SegmentFree { address } => {
                if let Some(size) = self.segments.remove(&(space, address)) {
                    let entry = of_event(event, EntryAction::SegmentFree, address, size);
                    self.push(space, LayerKind::Blocks, entry);
                }
            }
            Action::SegmentMap { address, size, .. } => {
                let entry = of_event(event, EntryAction::SegmentMap, address, size);
                self.push(space, LayerKind::Blocks, entry);
            }
            Action::SegmentUnmap { address, size } => {
                let entry = of_event(event, EntryAction::SegmentUnmap, address, size);
                self.push(space, LayerKind::Blocks, entry);
            }
            _ => changes.iter().for_each(|change| self.change(event, change)),
        }
    }

    /// The moment that PyTorch took a snapshot.
    pub(super) fn snapshot_taken(&mut self, event: &Event) {
        let space = (event.origin.process, event.origin.device);
        let entry = of_event(event, EntryAction::Snapshot, Address(0), Bytes::ZERO);
        self.push(space, LayerKind::Blocks, entry);
    }

    /// A request failed.
    pub(super) fn out_of_memory(&mut self, event: &Event, requested: Bytes, free: Bytes) {
        if !FAILURES.contains(&event.result.0) {
            return;
        }
        let space = (event.origin.process, event.origin.device);
        let entry = of_event(event, EntryAction::OutOfMemory, Address(free.0), requested);
        for layer in [LayerKind::Blocks, LayerKind::Driver] {
            self.push(space, layer, entry);
        }
    }

    /// Reads one history from its start.
    pub(super) fn read(
        &mut self,
        space: SpaceKey,
        layer: LayerKind,
        take: impl FnMut(Entry) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        self.latch.finish()?;
        match self.lanes.get(&(space, layer)) {
            Some(lane) => Ok(self.spool.read(lane, take)?),
            None => Ok(()),
        }
    }

    fn change(&mut self, event: &Event, change: &Change) {
        let (space, layer, held) = (change.space, change.layer, change.block);
        let address = address_of(change.address, held.interface);
        let entry = |action, stack| Entry {
            action,
            address,
            size: held.requested,
            stream: held.stream,
            pool: held.pool,
            stack,
            time: event.time,
        };
        // Memory of the driver is a segment with one block.
        let of_driver = layer == LayerKind::Driver;
        if of_driver && held.size == Bytes::ZERO {
            return;
        }
        let of_segment = |action| Entry { size: held.size, ..entry(action, held.stack) };
        if change.step == Step::Taken {
            if of_driver {
                self.push(space, layer, of_segment(EntryAction::SegmentAlloc));
            }
            return self.push(space, layer, entry(EntryAction::Alloc, held.stack));
        }
        let freed_by = if change.unseen { StackId(0) } else { event.stack };
        // PyTorch tells of both steps always; a recording only of those that it saw.
        if !held.pending {
            self.push(space, layer, entry(EntryAction::FreeRequested, freed_by));
        }
        if change.step == Step::Freed {
            self.push(space, layer, entry(EntryAction::FreeCompleted, freed_by));
            if of_driver {
                self.push(space, layer, of_segment(EntryAction::SegmentFree));
            }
        }
    }

    fn push(&mut self, space: SpaceKey, layer: LayerKind, entry: Entry) {
        if space.1 == DeviceId::UNKNOWN {
            return;
        }
        let lane = self.lanes.entry((space, layer)).or_default();
        if self.spool.push(lane, entry) {
            let (spool, lanes) = (&mut self.spool, &mut self.lanes);
            self.latch.attempt(|| Ok(spool.flush(lanes.values_mut())?));
        }
    }
}

fn of_event(event: &Event, action: EntryAction, address: Address, size: Bytes) -> Entry {
    Entry {
        action,
        address,
        size,
        stream: event.origin.stream,
        pool: event.origin.pool,
        stack: event.stack,
        time: event.time,
    }
}

/// Physical memory behind a handle has no address of its own: it stands at its handle's number, far from
/// all others. (Readers take numbers of 63 bits.)
pub(super) fn address_of(address: Address, interface: Interface) -> Address {
    const BEHIND_A_HANDLE: u64 = 1 << 62;
    match interface {
        Interface::Virtual => {
            let HandleId(handle) = HandleId(address.0 & (BEHIND_A_HANDLE - 1));
            Address(BEHIND_A_HANDLE | handle)
        }
        _ => address,
    }
}

/// PyTorch counts in microseconds.
pub(super) fn microseconds(time: Time) -> u64 {
    time.0 / 1000
}
