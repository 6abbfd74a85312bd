//! A device for replays: it counts, and knows what each call would have cost.

use std::collections::BTreeMap;

use crate::device::{Device, Handle, PAGE};

/// Nanoseconds that calls take on a real device. Segments: an order of magnitude, since `cudaMalloc`
/// and `cudaFree` wait for the device, as seen in public benchmarks. Virtual memory: medians on an
/// A100 with pages of 2 MiB (ovg-project/kvcached, bench_vmm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCosts {
    /// Of a segment.
    pub alloc: u64,
    /// Of a segment.
    pub free: u64,
    /// Of addresses.
    pub reserve: u64,
    /// Of physical memory.
    pub create: u64,
    /// Of physical memory.
    pub release: u64,
    /// With access to what is mapped.
    pub map: u64,
    /// Of what was mapped.
    pub unmap: u64,
    /// With all work.
    pub synchronize: u64,
}

impl Default for CallCosts {
    fn default() -> Self {
        Self {
            alloc: 100_000,
            free: 100_000,
            reserve: 19_000,
            create: 193_000,
            release: 25_000,
            map: 1_450 + 36_000,
            unmap: 25_600,
            synchronize: 20_000,
        }
    }
}

/// No device has more addresses, and what is added to one of these does not overflow.
const MOST_ADDRESSES: u64 = 1 << 62;

/// A device of some capacity that gives addresses and keeps count.
#[derive(Debug)]
pub struct SimulatedDevice {
    costs: CallCosts,
    capacity: u64,
    in_use: u64,
    peak: u64,
    next_address: u64,
    segments: BTreeMap<u64, u64>,
    reservations: BTreeMap<u64, u64>,
    physical: Vec<Physical>,
    /// Where what is mapped.
    mappings: BTreeMap<u64, Handle>,
    calls: u64,
    nanoseconds: u64,
    /// What the policy went through by itself.
    looked_at: u64,
    /// What calls and looks may come to.
    most_calls: u64,
    most_looks: u64,
}

/// What a policy may take for a replay, and for each of its steps: a microsecond or two. All of a device of 512 GiB
/// can be mapped in pages.
const CALLS: u64 = 1 << 19;
const CALLS_OF_STEP: u64 = 32;
const LOOKS: u64 = 1 << 20;
const LOOKS_OF_STEP: u64 = 32;

#[derive(Clone, Copy, Debug)]
struct Physical {
    size: u64,
    mappings: u32,
    released: bool,
}

impl SimulatedDevice {
    /// A device of that capacity.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            costs: CallCosts::default(),
            capacity,
            in_use: 0,
            peak: 0,
            next_address: PAGE,
            segments: BTreeMap::new(),
            reservations: BTreeMap::new(),
            physical: Vec::new(),
            mappings: BTreeMap::new(),
            calls: 0,
            nanoseconds: 0,
            looked_at: 0,
            most_calls: u64::MAX,
            most_looks: u64::MAX,
        }
    }

    /// The same, whose calls take so long.
    #[must_use]
    pub fn with_costs(self, costs: CallCosts) -> Self {
        Self { costs, ..self }
    }

    /// A device that gives nothing more once a policy has taken out of all proportion to so many steps.
    #[must_use]
    pub(crate) fn for_steps(capacity: u64, steps: usize) -> Self {
        let mut device = Self::new(capacity);
        device.allow(steps);
        device
    }

    /// Bounds what a policy may take for so many steps.
    pub(crate) fn allow(&mut self, steps: usize) {
        self.most_calls = CALLS.saturating_add(CALLS_OF_STEP.saturating_mul(steps as u64));
        self.most_looks = LOOKS.saturating_add(LOOKS_OF_STEP.saturating_mul(steps as u64));
    }

    /// Whether a policy has taken more than it may.
    #[must_use]
    pub(crate) fn is_spent(&self) -> bool {
        self.calls > self.most_calls || self.looked_at > self.most_looks
    }

    /// The most that was in use at a time.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Calls of the driver so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// What those calls would have taken on a real device.
    #[must_use]
    pub(crate) fn modelled_nanoseconds(&self) -> u64 {
        self.nanoseconds
    }

    /// Where memory is: address and length of segments and mappings, in order of address.
    pub fn backed(&self) -> impl Iterator<Item = (u64, u64)> {
        let mapped =
            self.mappings.iter().map(|(address, handle)| (*address, self.size_of(*handle)));
        let segments = self.segments.iter().map(|(address, size)| (*address, *size));
        let mut all: Vec<_> = segments.chain(mapped).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// The physical memory behind an address: which, where in it, and how much of it is left from
    /// there. A segment's memory is its addresses.
    #[must_use]
    pub fn behind(&self, address: u64) -> Option<(Option<Handle>, u64, u64)> {
        let below = self.segments.range(..=address).next_back();
        if let Some((start, size)) = below
            && address - start < *size
        {
            return Some((None, address, start + size - address));
        }
        let (start, handle) = self.mappings.range(..=address).next_back()?;
        let (inside, size) = (address - start, self.size_of(*handle));
        (inside < size).then(|| (Some(*handle), inside, size - inside))
    }

    fn size_of(&self, handle: Handle) -> u64 {
        self.physical.get(handle.0 as usize).map_or(0, |physical| physical.size)
    }

    fn called(&mut self, nanoseconds: u64) {
        self.calls += 1;
        self.nanoseconds += nanoseconds;
    }

    fn take(&mut self, size: u64) -> bool {
        let fits = self.in_use.checked_add(size).is_some_and(|sum| sum <= self.capacity);
        let fits = fits && !self.is_spent() && self.next_address <= MOST_ADDRESSES;
        if fits {
            self.in_use += size;
            self.peak = self.peak.max(self.in_use);
        }
        fits
    }

    /// New addresses, with a gap before the next so that nothing joins by accident.
    fn new_addresses(&mut self, size: u64) -> u64 {
        let address = self.next_address;
        let size = size.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
        self.next_address = address.saturating_add(size).saturating_add(PAGE);
        address
    }

    fn drop_if_unused(&mut self, handle: Handle) {
        let Some(physical) = self.physical.get_mut(handle.0 as usize) else { return };
        if physical.released && physical.mappings == 0 {
            self.in_use -= physical.size;
            physical.size = 0;
        }
    }
}

impl Device for SimulatedDevice {
    fn alloc(&mut self, size: u64) -> Option<u64> {
        self.called(self.costs.alloc);
        if !self.take(size) {
            return None;
        }
        let address = self.new_addresses(size);
        self.segments.insert(address, size);
        Some(address)
    }

    fn free(&mut self, address: u64) {
        self.called(self.costs.free);
        self.in_use -= self.segments.remove(&address).unwrap_or(0);
    }

    fn reserve(&mut self, size: u64) -> u64 {
        self.called(self.costs.reserve);
        let address = self.new_addresses(size);
        self.reservations.insert(address, size);
        address
    }

    fn create(&mut self, size: u64) -> Option<Handle> {
        self.called(self.costs.create);
        if !self.take(size) {
            return None;
        }
        self.physical.push(Physical { size, mappings: 0, released: false });
        Some(Handle(self.physical.len() as u32 - 1))
    }

    fn release(&mut self, handle: Handle) {
        self.called(self.costs.release);
        if let Some(physical) = self.physical.get_mut(handle.0 as usize) {
            physical.released = true;
        }
        self.drop_if_unused(handle);
    }

    fn map(&mut self, address: u64, handle: Handle) {
        self.called(self.costs.map);
        if let Some(physical) = self.physical.get_mut(handle.0 as usize) {
            physical.mappings += 1;
        }
        self.mappings.insert(address, handle);
    }

    fn unmap(&mut self, address: u64) {
        self.called(self.costs.unmap);
        let Some(handle) = self.mappings.remove(&address) else { return };
        if let Some(physical) = self.physical.get_mut(handle.0 as usize) {
            physical.mappings -= 1;
        }
        self.drop_if_unused(handle);
    }

    fn synchronize(&mut self) {
        self.called(self.costs.synchronize);
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn in_use(&self) -> u64 {
        self.in_use
    }

    fn looked_at(&mut self, things: u64) {
        self.looked_at = self.looked_at.saturating_add(things);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gives_nothing_more_once_a_policy_is_out_of_proportion() {
        let mut device = SimulatedDevice::for_steps(u64::MAX / 4, 10);
        let most = CALLS + 10 * CALLS_OF_STEP;
        let created = (0..2 * CALLS).map_while(|_| device.create(PAGE)).count() as u64;
        assert_eq!((created, device.is_spent()), (most, true));

        let mut looking = SimulatedDevice::for_steps(u64::MAX / 4, 10);
        looking.looked_at(LOOKS);
        assert!(looking.alloc(1).is_some() && !looking.is_spent());
        looking.looked_at(LOOKS);
        assert!(looking.alloc(1).is_none() && looking.is_spent());
    }
}
