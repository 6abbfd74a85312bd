//! What each event changes in what is in use.
//!
//! An event that frees names an address. Whose memory lay there, how much, and who had asked for it, is
//! kept here while it lives. The rules are the model's (`whyoom_memory`): a test holds the sums of both to
//! each other.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use whyoom_memory::{Interface, VirtualMemory, handle_key};
use whyoom_trace::{
    Action, Address, Bytes, ContextId, DeviceId, Event, HandleId, PoolId, ProcessId, StackId,
    StreamId,
};

/// One process's memory on one device.
pub(crate) type SpaceKey = (ProcessId, DeviceId);

/// Whose memory it is that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Layer {
    /// A caching allocator's blocks.
    Blocks,
    /// What was taken from the driver.
    Driver,
}

impl Layer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Driver => "driver",
        }
    }
}

/// Memory in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) size: Bytes,
    pub(crate) requested: Bytes,
    pub(crate) stack: StackId,
    pub(crate) stream: StreamId,
    pub(crate) pool: PoolId,
    pub(crate) interface: Interface,
    context: ContextId,
    /// Given back, but a stream still uses it.
    pub(crate) pending: bool,
}

/// What happened to a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It was taken.
    Taken,
    /// The program gave it back; a stream may still use it.
    GivenBack,
    /// It is free.
    Freed,
}

/// A change of what is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) space: SpaceKey,
    pub(crate) layer: Layer,
    pub(crate) address: Address,
    /// The memory, as it was before the change; as it is, when it was taken.
    pub(crate) held: Held,
    pub(crate) step: Step,
    /// No event says so: it follows from another.
    pub(crate) unseen: bool,
}

impl Change {
    /// By how much it changes what is in use.
    pub(crate) fn bytes(&self) -> i64 {
        let size = i64::try_from(self.held.size.0).unwrap_or(i64::MAX);
        match self.step {
            Step::Taken => size,
            Step::GivenBack => -size,
            Step::Freed if self.held.pending => 0,
            Step::Freed => -size,
        }
    }
}

type ByAddress = HashMap<Address, Held, RandomState>;

/// What is in use, by process and device.
#[derive(Default)]
pub(crate) struct Ledger {
    blocks: BTreeMap<SpaceKey, ByAddress>,
    driver: BTreeMap<SpaceKey, Driver>,
}

#[derive(Default)]
struct Driver {
    live: ByAddress,
    virtual_memory: VirtualMemory,
}

impl Ledger {
    /// Takes an event; what it changes is put into `changes`.
    pub(crate) fn event(&mut self, event: &Event, changes: &mut Vec<Change>) {
        let space = (event.origin.process, event.origin.device);
        match event.action {
            Action::BlockAlloc { address, requested, size } => {
                let blocks = self.blocks.entry(space).or_default();
                let taken = held(event, size, requested, Interface::Allocator);
                let before = blocks.insert(address, taken);
                let change = change(space, Layer::Blocks, address);
                changes.extend(before.map(|held| unseen(change(held, Step::Freed))));
                changes.push(change(taken, Step::Taken));
            }
            Action::BlockFreeRequested { address } => {
                let block = self.blocks.get_mut(&space).and_then(|all| all.get_mut(&address));
                if let Some(block) = block.filter(|block| !block.pending) {
                    changes.push(change(space, Layer::Blocks, address)(*block, Step::GivenBack));
                    block.pending = true;
                }
            }
            Action::BlockFree { address } => {
                let block = self.blocks.get_mut(&space).and_then(|all| all.remove(&address));
                let change = change(space, Layer::Blocks, address);
                changes.extend(block.map(|held| change(held, Step::Freed)));
            }
            _ if event.result.0 == 0 => self.driver_event(event, changes),
            _ => {}
        }
    }

    fn driver_event(&mut self, event: &Event, changes: &mut Vec<Change>) {
        let space = (event.origin.process, event.origin.device);
        match event.action {
            Action::Alloc { kind, address, size } => {
                let interface = Interface::from(kind);
                // Opened memory is another process's: it takes nothing of this one's.
                let cost = if interface == Interface::Imported { Bytes::ZERO } else { size };
                self.take(space, address, held(event, cost, cost, interface), changes);
            }
            Action::Create { handle, size } => {
                let taken = held(event, size, size, Interface::Virtual);
                self.driver.entry(space).or_default().virtual_memory.create(handle);
                self.take(space, handle_key(handle), taken, changes);
            }
            Action::Free { address, .. } => {
                self.on_its_device(space, |own, driver| {
                    let held = driver.live.remove(&address)?;
                    changes.push(change(own, Layer::Driver, address)(held, Step::Freed));
                    Some(())
                });
            }
            Action::Map { address, size, handle } => {
                self.on_its_device(space, |_, driver| {
                    driver.virtual_memory.map(address, size, handle);
                    driver.virtual_memory.knows(handle).then_some(())
                });
            }
            Action::Release { handle } => {
                self.on_its_device(space, |own, driver| {
                    let known = driver.virtual_memory.knows(handle);
                    let gone = driver.virtual_memory.release(handle);
                    driver.end(own, gone, changes);
                    known.then_some(())
                });
            }
            Action::Unmap { address, size } => {
                self.on_its_device(space, |own, driver| {
                    let known = driver.virtual_memory.is_mapped(address);
                    let gone = driver.virtual_memory.unmap(address, size);
                    driver.end(own, gone, changes);
                    known.then_some(())
                });
            }
            Action::ContextDestroy => {
                for device in [event.origin.device, DeviceId::HOST] {
                    self.end_context((space.0, device), event.origin.context, changes);
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, space: SpaceKey, address: Address, taken: Held, changes: &mut Vec<Change>) {
        let change = change(space, Layer::Driver, address);
        let before = self.driver.entry(space).or_default().live.insert(address, taken);
        changes.extend(before.map(|held| unseen(change(held, Step::Freed))));
        changes.push(change(taken, Step::Taken));
    }

    /// Tries a step on the device that an event names, then on the others of its process: what frees
    /// memory need not say where it lay.
    fn on_its_device(
        &mut self,
        space: SpaceKey,
        mut step: impl FnMut(SpaceKey, &mut Driver) -> Option<()>,
    ) {
        if self.driver.get_mut(&space).and_then(|driver| step(space, driver)).is_some() {
            return;
        }
        let all = (space.0, DeviceId(0))..=(space.0, DeviceId(u16::MAX));
        let mut others = self.driver.range_mut(all).filter(|(own, _)| **own != space);
        others.find_map(|(own, driver)| step(*own, driver));
    }

    /// A context ends and takes with it what was made in it; physical memory and pools outlive it.
    fn end_context(&mut self, space: SpaceKey, context: ContextId, changes: &mut Vec<Change>) {
        let Some(driver) = self.driver.get_mut(&space) else { return };
        let ends = |held: &Held| {
            held.context == context
                && !matches!(held.interface, Interface::Virtual | Interface::StreamOrdered)
        };
        let first = changes.len();
        for (address, held) in driver.live.extract_if(|_, held| ends(held)) {
            changes.push(unseen(change(space, Layer::Driver, address)(held, Step::Freed)));
        }
        // The map has no order of its own, and two exports of a run should be equal.
        changes[first..].sort_by_key(|change| change.address);
    }
}

impl Driver {
    /// Physical memory has gone.
    fn end(
        &mut self,
        space: SpaceKey,
        gone: impl IntoIterator<Item = HandleId>,
        changes: &mut Vec<Change>,
    ) {
        for address in gone.into_iter().map(handle_key) {
            let held = self.live.remove(&address);
            let change = change(space, Layer::Driver, address);
            changes.extend(held.map(|held| change(held, Step::Freed)));
        }
    }
}

fn held(event: &Event, size: Bytes, requested: Bytes, interface: Interface) -> Held {
    Held {
        size,
        requested,
        stack: event.stack,
        stream: event.origin.stream,
        pool: event.origin.pool,
        interface,
        context: event.origin.context,
        pending: false,
    }
}

fn change(space: SpaceKey, layer: Layer, address: Address) -> impl Fn(Held, Step) -> Change {
    move |held, step| Change { space, layer, address, held, step, unseen: false }
}

fn unseen(change: Change) -> Change {
    Change { unseen: true, ..change }
}
