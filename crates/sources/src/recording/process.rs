//! One process of the recording: whose the driver memory is that it takes.

use std::collections::BTreeMap;

use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, HandleId, MemoryKind, PoolId, ResultCode,
    SegmentGrowth, SizeClass, StackId,
};

use super::{
    device_names::DeviceNames,
    ledger::{Created, Ledger, Mapping, Taken},
    queue::{Queue, Ticket},
};

/// PyTorch serves requests up to this from small segments.
const LARGEST_SMALL: Bytes = Bytes::MIB;

/// One process.
#[derive(Debug, Default)]
pub(super) struct Process {
    ledger: Ledger,
    reserved: BTreeMap<DeviceId, Bytes>,
    /// The pool that a later graph was given in place of one of its own.
    shared_pools: BTreeMap<PoolId, PoolId>,
    /// Whether PyTorch's allocator was seen in it.
    pub(super) has_blocks: bool,
    /// True if whyoom's pool serves it.
    pub(super) has_pool: bool,
    /// What it calls its devices.
    pub(super) device_names: DeviceNames,
}

impl Process {
    /// What the allocator holds on a device: PyTorch's segments, or the pool's physical memory.
    pub(super) fn reserved(&self, device: DeviceId) -> Bytes {
        self.reserved.get(&device).copied().unwrap_or_default()
    }

    /// The pool that serves what happens in a capture.
    pub(super) fn pool_behind(&self, pool: PoolId) -> PoolId {
        self.shared_pools.get(&pool).copied().unwrap_or(pool)
    }

    /// Whether a graph was given the pool of another.
    pub(super) fn shares_pools(&self) -> bool {
        !self.shared_pools.is_empty()
    }

    /// Whether a block at an address lies in a segment of that pool, as far as that is known without a search.
    #[inline]
    pub(super) fn has_pool_at(&self, address: Address, pool: PoolId) -> bool {
        self.ledger.pool_nearby(address.0) == Some(pool)
    }

    /// The pool of a block is that of the segment around it. A graph whose block lies in another's segment
    /// shares its pool; one in memory of no graph was made by another stream meanwhile.
    fn pool_of_block(&mut self, told: PoolId, of_segment: PoolId) -> PoolId {
        let is_graphs = |pool: PoolId| pool != PoolId(0);
        if told != of_segment && is_graphs(told) && is_graphs(of_segment) {
            self.shared_pools.insert(told, of_segment);
        }
        of_segment
    }

    /// Notes memory that the driver gave. A ticket comes back where it waits to be known whose it is.
    pub(super) fn gave(&mut self, event: &Event, queue: &mut Queue) -> Option<Ticket> {
        match event.action {
            Action::Alloc { address, size, .. } => {
                let ticket = queue.wait(*event);
                let taken = Taken { size: size.0, event: *event, ticket, segment: false };
                self.ledger.take(address.0, taken);
                Some(ticket)
            }
            Action::Create { handle, .. } => {
                let ticket = queue.wait(*event);
                let created = Created { event: *event, ticket, segment: false, of_pool: false };
                self.ledger.created.insert(handle.0, created);
                Some(ticket)
            }
            Action::Map { address, handle, .. } if self.ledger.is_pools(address.0) => {
                self.claim_created(handle.0, event, queue);
                None
            }
            Action::Map { address, size, handle } => {
                let class = self.ledger.class_at(address.0);
                let ticket = queue.wait(*event);
                let mapping = Mapping { size: size.0, handle: handle.0, event: *event, ticket };
                let Some(class) = class else {
                    self.ledger.mappings.insert(address.0, mapping);
                    return Some(ticket);
                };
                self.map_segment(address.0, &mapping, class, event, queue);
                None
            }
            _ => None,
        }
    }

    /// A block was given: what it lies in is a segment, whose pool comes back.
    pub(super) fn claim(&mut self, event: &Event, queue: &mut Queue) -> PoolId {
        self.has_blocks = true;
        let told = event.origin.pool;
        let Action::BlockAlloc { address, size, .. } = event.action else { return told };
        if let Some(of_segment) = self.ledger.pool_at(address.0) {
            return self.pool_of_block(told, of_segment);
        }
        let class = if size <= LARGEST_SMALL { SizeClass::Small } else { SizeClass::Large };
        let Some((start, taken)) = self.ledger.taken_at(address.0) else {
            for (start, mapping) in self.ledger.claim(address.0, class) {
                self.map_segment(start, &mapping, class, event, queue);
            }
            return told;
        };
        let of_segment = taken.event.origin.pool;
        taken.segment = true;
        let (start, size, growth) = (Address(start), Bytes(taken.size), SegmentGrowth::Fixed);
        let device = taken.event.origin.device;
        let action = Action::SegmentAlloc { address: start, size, class, growth };
        if queue.is_open(taken.ticket) {
            queue.replace(taken.ticket, Some(Event { action, ..taken.event }));
        } else {
            // It went out as the driver's: that is taken back.
            let free = Action::Free { kind: MemoryKind::Device, address: start };
            queue.push(Event { action: free, stack: StackId(0), ..*event });
            queue.push(Event { action, time: event.time, ..taken.event });
        }
        self.add(device, size);
        self.pool_of_block(told, of_segment)
    }

    /// The pool tells of a segment: what is mapped there is the pool's, and is told by it.
    pub(super) fn claim_for_pool(&mut self, event: &Event, queue: &mut Queue) {
        let Action::SegmentMap { address, size, .. } = event.action else { return };
        for (start, mapping) in self.ledger.claim_for_pool(address.0, size.0) {
            if queue.is_open(mapping.ticket) {
                queue.replace(mapping.ticket, None);
            } else {
                // It went out as the driver's: that is taken back.
                let (address, size) = (Address(start), Bytes(mapping.size));
                let action = Action::Unmap { address, size };
                queue.push(Event { action, stack: StackId(0), ..*event });
            }
            self.claim_created(mapping.handle, event, queue);
        }
    }

    /// Physical memory is the pool's: it counts as held from now until it is released, wherever it is
    /// mapped meanwhile.
    fn claim_created(&mut self, handle: u64, now: &Event, queue: &mut Queue) {
        let Some(created) = self.ledger.created.get_mut(&handle) else { return };
        let Action::Create { size, .. } = created.event.action else { return };
        if created.segment {
            return;
        }
        (created.segment, created.of_pool) = (true, true);
        let origin = created.event.origin;
        if queue.is_open(created.ticket) {
            queue.replace(created.ticket, None);
        } else {
            let action = Action::Release { handle: HandleId(handle) };
            queue.push(Event { action, origin, stack: StackId(0), ..*now });
        }
        self.add(origin.device, size);
    }

    /// A mapping is part of a segment that grows.
    fn map_segment(
        &mut self,
        start: u64,
        mapping: &Mapping,
        class: SizeClass,
        now: &Event,
        queue: &mut Queue,
    ) {
        let (address, size) = (Address(start), Bytes(mapping.size));
        let action = Action::SegmentMap { address, size, class };
        // Who mapped tells the device; the address alone does not.
        let device = self.device_of(mapping);
        let mut origin = mapping.event.origin;
        origin.device = device;
        let segment = Event { action, origin, ..mapping.event };
        let open = queue.is_open(mapping.ticket);
        if open {
            queue.replace(mapping.ticket, Some(segment));
        } else {
            let unmap = Action::Unmap { address, size };
            queue.push(Event { action: unmap, origin, stack: StackId(0), ..*now });
        }
        if let Some(created) = self.ledger.created.get_mut(&mapping.handle) {
            if queue.is_open(created.ticket) {
                queue.replace(created.ticket, None);
            } else if !created.segment {
                let release = Action::Release { handle: HandleId(mapping.handle) };
                queue.push(Event { action: release, origin, stack: StackId(0), ..*now });
            }
            created.segment = true;
        }
        if !open {
            queue.push(Event { time: now.time, ..segment });
        }
        self.ledger.grown.insert(start, device);
        self.add(device, size);
    }

    /// The device of mapped memory: where its handle was made, if that was seen.
    fn device_of(&self, mapping: &Mapping) -> DeviceId {
        let created = self.ledger.created.get(&mapping.handle);
        created.map_or(mapping.event.origin.device, |created| created.event.origin.device)
    }

    /// Any other event, as the contract has it; nothing where a segment's event says it already.
    pub(super) fn passing(&mut self, event: &Event) -> Option<Event> {
        match event.action {
            Action::Free { address, .. } => {
                let taken = self.ledger.give_back(address.0);
                let Some(taken) = taken.filter(|taken| taken.segment) else { return Some(*event) };
                self.subtract(taken.event.origin.device, Bytes(taken.size));
                let origin = taken.event.origin;
                Some(Event { action: Action::SegmentFree { address }, origin, ..*event })
            }
            Action::Reserve { address, size } => {
                self.ledger.reserve(address.0, size.0);
                Some(*event)
            }
            Action::Unreserve { address, .. } => {
                self.ledger.unreserve(address.0);
                Some(*event)
            }
            // The pool has said where its segment went before it took the mapping away.
            Action::Unmap { address, .. } if self.ledger.is_pools(address.0) => None,
            Action::Unmap { address, size } => Some(self.unmap(event, address, size)),
            Action::Release { handle } => self.release(event, handle),
            _ => Some(*event),
        }
    }

    fn release(&mut self, event: &Event, handle: HandleId) -> Option<Event> {
        let Some(created) = self.ledger.created.remove(&handle.0) else { return Some(*event) };
        if let (true, Action::Create { size, .. }) = (created.of_pool, created.event.action) {
            self.subtract(created.event.origin.device, size);
        }
        (!created.segment).then_some(*event)
    }

    fn unmap(&mut self, event: &Event, address: Address, size: Bytes) -> Event {
        let device = self.ledger.unmap(address.0, size.0).unwrap_or(event.origin.device);
        if self.ledger.class_at(address.0).is_none() {
            return *event;
        }
        self.subtract(device, size);
        let mut origin = event.origin;
        origin.device = device;
        let action = Action::SegmentUnmap { address, size };
        Event { action, origin, result: ResultCode(0), ..*event }
    }

    fn add(&mut self, device: DeviceId, size: Bytes) {
        let sum = self.reserved.entry(device).or_default();
        *sum = sum.plus(size);
    }

    fn subtract(&mut self, device: DeviceId, size: Bytes) {
        let sum = self.reserved.entry(device).or_default();
        *sum = sum.minus(size);
    }
}
