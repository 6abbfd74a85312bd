//! Small allocations share slabs. Pure: the device gives and takes the slabs themselves.

use std::collections::BTreeMap;

use crate::ranges::FreeRanges;

/// The slabs of one device in one process.
#[derive(Debug, Default)]
pub(crate) struct Slabs {
    by_start: BTreeMap<u64, FreeRanges>,
}

impl Slabs {
    /// A place in one of the slabs.
    pub(crate) fn take(&mut self, length: u64) -> Option<u64> {
        self.by_start.values_mut().find_map(|slab| slab.take(length))
    }

    /// Adds a slab.
    pub(crate) fn add(&mut self, start: u64, length: u64) {
        self.by_start.insert(start, FreeRanges::new(start, length));
    }

    /// The slab that a place is in, by its start.
    pub(crate) fn slab_of(&self, place: u64) -> Option<u64> {
        self.by_start.range(..=place).next_back().map(|(start, _)| *start)
    }

    /// Takes a place back. A slab that is empty now is given up: its start is returned.
    pub(crate) fn give_back(&mut self, place: u64, length: u64, slab_length: u64) -> Option<u64> {
        let (&start, slab) = self.by_start.range_mut(..=place).next_back()?;
        slab.give_back(place, length);
        if !slab.is_all_free(start, slab_length) {
            return None;
        }
        self.by_start.remove(&start);
        Some(start)
    }
}
