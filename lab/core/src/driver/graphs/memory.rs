//! Memory of graphs: addresses when a node is made, memory when it is launched.

use std::collections::HashSet;

use whyoom_trace::MemoryKind;

use crate::{
    backing,
    driver::{
        Allocation, AllocationKind, ContextId, Driver, GraphAllocation, GraphId, NodeId,
        state::GraphSpace,
    },
    error::{Error, Result},
    graph_space::Space,
    ranges::round_up,
    timeline::{Stamp, StreamId},
};

impl Driver {
    /// Whether a graph has nodes that take or give memory.
    pub(super) fn has_memory(&self, id: GraphId) -> bool {
        let nodes = self.graph(id).map(|graph| graph.nodes.as_slice()).unwrap_or_default();
        nodes.iter().any(|node| self.node(*node).is_ok_and(|node| node.work.is_memory()))
    }

    /// Addresses for an allocation behind some nodes of its graph.
    pub(super) fn take_graph_addresses(
        &mut self,
        id: GraphId,
        device: usize,
        size: u64,
        before: &HashSet<NodeId>,
    ) -> Result<u64> {
        let units = self.device(device)?.spec.units;
        let footprint = round_up(size, units.small_unit);
        let space = self.space_on(id, device)?;
        let take = |driver: &mut Self| {
            let space = &mut driver.graphs.spaces.get_mut(&space)?.space;
            space.take(footprint, |node| before.contains(&node))
        };
        if let Some(address) = take(self) {
            return Ok(address);
        }
        // More than the device has can never be launched.
        let length = round_up(footprint, units.pool_chunk);
        if length > self.device(device)?.spec.total {
            return Err(Error::OutOfMemory);
        }
        let start = self.device_mut(device)?.take_addresses(length)?;
        if let Some(space) = self.graphs.spaces.get_mut(&space) {
            space.space.grow(start, length);
        }
        take(self).ok_or(Error::OutOfMemory)
    }

    /// The space of a graph on a device, made on first use.
    fn space_on(&mut self, id: GraphId, device: usize) -> Result<u64> {
        let on_device = |space: &&u64| {
            self.graphs.spaces.get(space).is_some_and(|space| space.device == device)
        };
        if let Some(space) = self.graph(id)?.spaces.iter().find(on_device) {
            return Ok(*space);
        }
        let space = self.new_handle();
        let entry = GraphSpace {
            device,
            graph: id,
            graph_lives: true,
            executable: false,
            running: false,
            space: Space::default(),
            freed_elsewhere: HashSet::new(),
        };
        self.graphs.spaces.insert(space, entry);
        self.graph_mut(id)?.spaces.push(space);
        Ok(space)
    }

    fn space_at(&mut self, address: u64) -> Result<&mut GraphSpace> {
        let mut spaces = self.graphs.spaces.values_mut();
        spaces.find(|space| space.space.contains(address)).ok_or(Error::InvalidValue)
    }

    /// Documented: a node frees an allocation once, of its own graph or of another, not both.
    pub(super) fn check_graph_free(&mut self, id: GraphId, address: u64) -> Result<()> {
        self.graph(id)?;
        let space = self.space_at(address)?;
        let freed = !space.space.has(address) || space.freed_elsewhere.contains(&address);
        // Another graph may free it again at each launch.
        if freed && (space.graph == id || !space.space.has(address)) {
            return Err(Error::InvalidValue);
        }
        Ok(())
    }

    pub(super) fn note_graph_free(&mut self, id: GraphId, address: u64, node: NodeId) {
        let Ok(space) = self.space_at(address) else { return };
        if space.graph == id {
            space.space.free(address, node);
        } else {
            space.freed_elsewhere.insert(address);
        }
    }

    /// Takes memory for all of a space, as its launch needs.
    pub(super) fn back_space(
        &mut self,
        context: ContextId,
        id: u64,
        stream: StreamId,
    ) -> Result<()> {
        let Some(space) = self.graphs.spaces.get(&id) else { return Ok(()) };
        let (device, held) = (space.device, self.held_bytes(id));
        let bytes = space.space.bytes().saturating_sub(held);
        let now = self.now();
        let memory = self.graphs.memory.entry(device).or_default();
        let missing = memory.take(bytes, id, stream, &self.timeline, now);
        if missing == 0 {
            return Ok(());
        }
        let charged = self.count_allocation().and_then(|()| self.charge(device, missing));
        if charged.is_err() {
            let place = self.stream_place(context, stream);
            let outcome = charged.map(|()| 0);
            self.note_alloc(place, MemoryKind::StreamOrdered, &outcome, missing);
            self.settle_space(id, &Stamp::default());
        } else if let Some(memory) = self.graphs.memory.get_mut(&device) {
            memory.grow(missing, id);
        }
        charged
    }

    /// What allocations of a space that are not freed keep of its memory: whole chunks.
    fn held_bytes(&self, id: u64) -> u64 {
        let Some(space) = self.graphs.spaces.get(&id) else { return 0 };
        let unit = self.device(space.device).map_or(1, |device| device.spec.units.pool_chunk);
        let mut held = HashSet::new();
        for (start, length) in space.space.chunks() {
            for allocation in self.allocations.range(start..start + length).map(|(_, held)| held) {
                let first = (allocation.start - start) / unit;
                let last = (allocation.start + allocation.footprint - 1 - start) / unit;
                held.extend((first..=last).map(|unit| (start, unit)));
            }
        }
        held.len() as u64 * unit
    }

    /// What is not held any longer is in use until a point in a stream's work.
    pub(super) fn settle_space(&mut self, id: u64, until: &Stamp) {
        let Some(space) = self.graphs.spaces.get(&id).filter(|space| !space.running) else {
            return;
        };
        let held = self.held_bytes(id);
        if let Some(memory) = self.graphs.memory.get_mut(&space.device) {
            memory.keep(id, held, until);
        }
    }

    /// The allocation of a node comes to life.
    pub(super) fn begin_graph_allocation(
        &mut self,
        context: ContextId,
        stream: StreamId,
        made: &GraphAllocation,
    ) -> Result<()> {
        let GraphAllocation { address, size, device } = *made;
        let spaces = self.graphs.spaces.iter();
        let space = spaces.filter(|(_, space)| space.space.contains(address)).map(|(id, _)| *id);
        let space = space.last().ok_or(Error::InvalidValue)?;
        let unit = self.device(device)?.spec.units.small_unit;
        let kind = AllocationKind::Graph(space);
        let allocation = Allocation::new(kind, (device, context), address, size);
        self.enter(Allocation { footprint: round_up(size, unit), ..allocation });
        let place = self.stream_place(context, stream);
        self.note_alloc(place, MemoryKind::StreamOrdered, &Ok(address), size);
        Ok(())
    }

    /// The end of an allocation of a graph, in a graph or out of it. Documented: what is freed in its
    /// own graph cannot be freed outside; it never lives there.
    pub(in crate::driver) fn end_graph_allocation(
        &mut self,
        address: u64,
        until: &Stamp,
    ) -> Result<()> {
        let held = self.allocations.get(&address).ok_or(Error::InvalidValue)?;
        let AllocationKind::Graph(space) = held.kind else { return Err(Error::InvalidValue) };
        if held.touched {
            backing::fill_zero(held.start, held.footprint);
        }
        self.allocations.remove(&address);
        self.settle_space(space, until);
        self.end_space_if_over(space);
        Ok(())
    }

    /// The allocations of a space that are not freed.
    pub(super) fn unfreed(&self, id: u64) -> Vec<u64> {
        let Some(space) = self.graphs.spaces.get(&id) else { return Vec::new() };
        let of_chunk = |(start, length): (u64, u64)| self.allocations.range(start..start + length);
        space.space.chunks().flat_map(of_chunk).map(|(start, _)| *start).collect()
    }

    pub(super) fn end_space_of_graph(&mut self, id: u64) {
        if let Some(space) = self.graphs.spaces.get_mut(&id) {
            space.graph_lives = false;
        }
        self.end_space_if_over(id);
    }

    pub(super) fn end_space_of_exec(&mut self, id: u64) {
        let Some(space) = self.graphs.spaces.get_mut(&id) else { return };
        space.executable = false;
        if let Some(memory) = self.graphs.memory.get_mut(&space.device) {
            memory.forget(id);
        }
        self.end_space_if_over(id);
    }

    fn end_space_if_over(&mut self, id: u64) {
        let in_use = |space: &GraphSpace| space.graph_lives || space.executable;
        if self.graphs.spaces.get(&id).is_none_or(in_use) || !self.unfreed(id).is_empty() {
            return;
        }
        let Some(space) = self.graphs.spaces.remove(&id) else { return };
        let device = self.devices.get_mut(space.device);
        if let Some(addresses) = device.and_then(|device| device.addresses.as_mut()) {
            for (start, length) in space.space.chunks() {
                addresses.give_back(start, length);
            }
        }
    }
}
