//! What one process took from the driver on one device, or pinned on the host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyoom_trace::{
    Action, Address, Bytes, ContextId, Event, HandleId, Limit, MemoryKind, PoolId, StackId, Tables,
};

use crate::{
    block::{LiveBlock, Usage, usage_by},
    instant::Instant,
    interface::Interface,
    layer::{Keeps, Layer},
    pools::{PoolFigures, PoolState, Pools},
    profile::Profiles,
    segments::Segments,
    sites::{Site, Sites},
    virtual_memory::{VirtualMemory, handle_key},
};

/// What one process took from the driver on one device, or pinned on the host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct DriverMemory {
    layer: Layer,
    by_kind: BTreeMap<MemoryKind, Bytes>,
    virtual_memory: VirtualMemory,
    pools: Pools,
    sites: Sites,
}

/// A driver event on its way into the model, with what there is to know of it.
pub(crate) struct DriverEvent<'a> {
    pub(crate) event: &'a Event,
    pub(crate) number: u64,
    pub(crate) tables: &'a Tables,
}

impl DriverEvent<'_> {
    fn at(&self) -> Instant {
        Instant { time: self.event.time, event: self.number }
    }
}

impl DriverMemory {
    pub(crate) fn new(keeps: Keeps) -> Self {
        Self { layer: Layer::new(keeps), ..Self::default() }
    }

    /// Its live set, peak and history.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// What is held by the interface that it came through; virtual memory is not among these.
    #[must_use]
    pub fn by_kind(&self) -> &BTreeMap<MemoryKind, Bytes> {
        &self.by_kind
    }

    /// What is held by where it came from, the most first.
    #[must_use]
    pub fn by_interface(&self) -> Vec<(Interface, Usage)> {
        usage_by(self.layer.live().values(), |block| block.interface)
    }

    /// What each call site made and ended.
    pub fn sites(&self) -> impl Iterator<Item = (StackId, Site)> {
        self.sites.iter()
    }

    /// The stream-ordered pools, with what the driver told of them where it was asked.
    #[must_use]
    pub(crate) fn pools(&self, told: &BTreeMap<PoolId, PoolFigures>) -> Vec<PoolState> {
        self.pools.states(told)
    }

    /// What is live and lies in none of the segments: taken beside the caching allocator.
    pub(crate) fn outside<'a>(
        &'a self,
        segments: &'a Segments,
    ) -> impl Iterator<Item = &'a LiveBlock> {
        let inside = |key: Address| {
            let address = self.virtual_memory.address_of(key).unwrap_or(key);
            segments.covers(address)
        };
        self.layer.live().iter().filter(move |(key, _)| !inside(**key)).map(|(_, block)| block)
    }

    /// Takes a driver event. Whether it concerned anything known here comes back: what frees does not
    /// always say where the memory lay.
    pub(crate) fn event(&mut self, event: &DriverEvent<'_>, profiles: &mut Profiles) -> bool {
        let origin = &event.event.origin;
        let known = match event.event.action {
            Action::Alloc { kind, address, size } => {
                self.alloc(event, kind, (address, size), profiles);
                true
            }
            Action::Free { address, .. } => self.free(address, event.event),
            Action::Create { handle, size } => {
                // A handle that comes again was released unseen, as with addresses.
                self.end(handle_key(handle));
                self.virtual_memory.create(handle);
                self.add(event, handle_key(handle), size, Interface::Virtual, profiles);
                true
            }
            Action::Release { handle } => self.release(handle),
            Action::Map { address, size, handle } => {
                self.virtual_memory.map(address, size, handle);
                self.virtual_memory.knows(handle)
            }
            Action::Unmap { address, size } => self.unmap(address, size),
            Action::PoolTrim { keep } => {
                self.pools.trim(origin.pool, keep);
                true
            }
            Action::LimitSet { limit: Limit::ReleaseThreshold, value } => {
                self.pools.set_threshold(origin.pool, Bytes(value));
                true
            }
            Action::Synchronize { scope } => {
                self.pools.synchronize(scope, origin.stream);
                true
            }
            _ => true,
        };
        if known {
            let held = self.layer.totals().active.plus(self.pools.idle());
            self.layer.set_reserved(held, 0);
            self.layer.note(event.at(), profiles, event.tables);
        }
        known
    }

    fn alloc(
        &mut self,
        event: &DriverEvent<'_>,
        kind: MemoryKind,
        (address, size): (Address, Bytes),
        profiles: &mut Profiles,
    ) {
        // An address that comes again without having been freed was freed unseen.
        self.free(address, event.event);
        let sum = self.by_kind.entry(kind).or_default();
        *sum = sum.plus(size);
        if kind == MemoryKind::StreamOrdered {
            self.pools.alloc(event.event.origin.pool, size);
        }
        self.add(event, address, size, kind.into(), profiles);
    }

    fn add(
        &mut self,
        event: &DriverEvent<'_>,
        address: Address,
        size: Bytes,
        interface: Interface,
        profiles: &mut Profiles,
    ) {
        let DriverEvent { event, number, tables } = event;
        let profile = profiles.of(event.stack, tables);
        // Opened memory is another process's: it takes nothing of this one's.
        let cost = if interface == Interface::Imported { Bytes::ZERO } else { size };
        let block = LiveBlock {
            size: cost,
            requested: cost,
            stream: event.origin.stream,
            born: *number,
            time: event.time,
            stack: event.stack,
            label: StackId(0),
            pool: event.origin.pool,
            context: event.origin.context,
            category: profile.category,
            by_phase: profile.by_phase,
            interface,
            pending: false,
        };
        self.sites.made(event.stack);
        self.layer.alloc(address, block, profile);
    }

    fn free(&mut self, address: Address, event: &Event) -> bool {
        let Some(block) = self.layer.free(address) else { return false };
        self.sites.ended(block.stack);
        if let Some(sum) = kind_of(block.interface).and_then(|kind| self.by_kind.get_mut(&kind)) {
            *sum = sum.minus(block.size);
        }
        if block.interface == Interface::StreamOrdered {
            self.pools.free(block.pool, block.size, event.origin.stream);
        }
        true
    }

    fn release(&mut self, handle: HandleId) -> bool {
        let known = self.virtual_memory.knows(handle);
        if let Some(gone) = self.virtual_memory.release(handle) {
            self.end(handle_key(gone));
        }
        known
    }

    fn unmap(&mut self, address: Address, size: Bytes) -> bool {
        let known = self.virtual_memory.is_mapped(address);
        for gone in self.virtual_memory.unmap(address, size) {
            self.end(handle_key(gone));
        }
        known
    }

    fn end(&mut self, key: Address) {
        if let Some(block) = self.layer.free(key) {
            self.sites.ended(block.stack);
        }
    }

    /// A context ends and takes with it what was made in it; physical memory and pools outlive it.
    pub(crate) fn end_context(
        &mut self,
        context: ContextId,
        event: &DriverEvent<'_>,
        profiles: &mut Profiles,
    ) {
        let ends = |block: &LiveBlock| {
            block.context == context
                && !matches!(block.interface, Interface::Virtual | Interface::StreamOrdered)
        };
        let blocks = self.layer.live().iter().filter(|(_, block)| ends(block));
        let mut gone: Vec<Address> = blocks.map(|(&address, _)| address).collect();
        // The map has no order of its own, and what is told of a run twice should be equal.
        gone.sort_unstable();
        for address in gone {
            self.free(address, event.event);
        }
        let held = self.layer.totals().active.plus(self.pools.idle());
        self.layer.set_reserved(held, 0);
        self.layer.note(event.at(), profiles, event.tables);
    }

    /// Blocks with where they really lie: virtual memory has a handle for a key.
    pub(crate) fn placed<'a>(
        &'a self,
        blocks: impl Iterator<Item = (Address, &'a LiveBlock)>,
    ) -> impl Iterator<Item = (Address, LiveBlock)> {
        blocks.filter_map(|(key, block)| match block.interface {
            Interface::Virtual => Some((self.virtual_memory.address_of(key)?, *block)),
            _ => Some((key, *block)),
        })
    }

    pub(crate) fn layer_mut(&mut self) -> &mut Layer {
        &mut self.layer
    }
}

fn kind_of(interface: Interface) -> Option<MemoryKind> {
    Some(match interface {
        Interface::Device => MemoryKind::Device,
        Interface::StreamOrdered => MemoryKind::StreamOrdered,
        Interface::Array => MemoryKind::Array,
        Interface::Managed => MemoryKind::Managed,
        Interface::Pinned => MemoryKind::Pinned,
        Interface::Registered => MemoryKind::Registered,
        Interface::Imported => MemoryKind::Imported,
        Interface::Allocator | Interface::Virtual => return None,
    })
}
