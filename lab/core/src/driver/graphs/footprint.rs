//! What the graphs of a process hold of each device, and giving it back.

use whyoom_trace::{Action, Bytes};

use crate::{
    driver::{Allocation, AllocationKind, Driver},
    error::{Error, Result},
    log::Place,
};

/// What can be asked about the memory of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphMemoryAttribute {
    /// Memory that is mapped in a graph.
    Used,
    /// The most of it.
    UsedHigh,
    /// Memory that was taken of the device for graphs.
    Reserved,
    /// The most of it.
    ReservedHigh,
}

impl Driver {
    /// Gives back the memory of graphs that nothing uses.
    pub fn trim_graph_memory(&mut self, device: usize) -> Result<()> {
        self.device(device)?;
        let now = self.now();
        let freed = self.graphs.memory.get_mut(&device).map_or(0, |memory| memory.trim(now));
        self.refund(device, freed);
        let place = Place { device: Some(device), ..Place::default() };
        self.note(place, &Ok(()), Action::PoolTrim { keep: Bytes(0) });
        Ok(())
    }

    /// Gives back all memory of graphs, when the primary context ends.
    pub(in crate::driver) fn release_graph_memory(&mut self, device: usize) {
        let is_graphs = |held: &Allocation| matches!(held.kind, AllocationKind::Graph(_));
        self.allocations.retain(|_, held| held.device != device || !is_graphs(held));
        let freed = self.graphs.memory.get_mut(&device).map_or(0, |memory| memory.clear());
        self.refund(device, freed);
    }

    /// What is known about the memory of graphs.
    pub fn graph_memory(&self, device: usize, attribute: GraphMemoryAttribute) -> Result<u64> {
        self.device(device)?;
        let Some(memory) = self.graphs.memory.get(&device) else { return Ok(0) };
        Ok(match attribute {
            GraphMemoryAttribute::Used => memory.used(),
            GraphMemoryAttribute::UsedHigh => memory.highs().0,
            GraphMemoryAttribute::Reserved => memory.reserved(),
            GraphMemoryAttribute::ReservedHigh => memory.highs().1,
        })
    }

    /// Sets a high mark back, which is all that can be set.
    pub fn reset_graph_memory(
        &mut self,
        device: usize,
        attribute: GraphMemoryAttribute,
    ) -> Result<()> {
        self.device(device)?;
        let used = attribute == GraphMemoryAttribute::UsedHigh;
        let reserved = attribute == GraphMemoryAttribute::ReservedHigh;
        if !used && !reserved {
            return Err(Error::InvalidValue);
        }
        self.graphs.memory.entry(device).or_default().reset_highs(used, reserved);
        Ok(())
    }
}
