//! What a process has taken from the driver, and which of it PyTorch's allocator or whyoom's pool keeps
//! its blocks in.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use whyoom_trace::{DeviceId, Event, PoolId, SizeClass};

use super::{nearby::Nearby, queue::Ticket};

/// Memory that one driver call gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) size: u64,
    /// The call.
    pub(super) event: Event,
    pub(super) ticket: Ticket,
    /// Whether it is a segment of PyTorch's allocator.
    pub(super) segment: bool,
}

/// Physical memory mapped into a reserved range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) size: u64,
    pub(super) handle: u64,
    pub(super) event: Event,
    pub(super) ticket: Ticket,
}

/// A reserved range of addresses.
#[derive(Clone, Copy, Debug)]
struct Reservation {
    size: u64,
    /// Who keeps blocks in it.
    keeper: Option<Referrer>,
}

/// Who keeps blocks in a reserved range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Referrer {
    /// PyTorch's allocator, blocks that serve such requests.
    PyTorch(SizeClass),
    /// whyoom's pool, which tells of its segments itself.
    Pool,
}

/// Physical memory behind a handle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Created {
    pub(super) event: Event,
    pub(super) ticket: Ticket,
    /// Whether it is part of a segment of an allocator.
    pub(super) segment: bool,
    /// Whether that allocator is whyoom's pool.
    pub(super) of_pool: bool,
}

/// What a process holds, by address. Addresses of all its devices are distinct.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    taken: BTreeMap<u64, Taken>,
    /// Segments that blocks were found in, until one is given back.
    nearby: Nearby,
    /// What is mapped and no block lies in so far.
    pub(super) mappings: BTreeMap<u64, Mapping>,
    /// What is mapped as part of a segment, and on which device. Apart from the others, so that each
    /// mapping is claimed once, whatever a damaged recording says.
    pub(super) grown: BTreeMap<u64, DeviceId>,
    pub(super) created: HashMap<u64, Created, RandomState>,
    reservations: BTreeMap<u64, Reservation>,
}

impl Ledger {
    /// Notes what a driver call gave.
    pub(super) fn take(&mut self, address: u64, taken: Taken) {
        let end = address.saturating_add(taken.size);
        let behind = self.taken.range(address..).next().is_some_and(|(&next, _)| next < end);
        // Only in a damaged recording: else what lies elsewhere stays as it is.
        if behind || self.taken_at(address).is_some() {
            self.nearby.forget();
        }
        self.taken.insert(address, taken);
    }

    /// Forgets what was taken at an address, which comes back.
    pub(super) fn give_back(&mut self, address: u64) -> Option<Taken> {
        let taken = self.taken.remove(&address)?;
        if taken.segment {
            self.nearby.forget();
        }
        Some(taken)
    }

    /// What was taken around an address, and where it starts.
    pub(super) fn taken_at(&mut self, address: u64) -> Option<(u64, &mut Taken)> {
        let (&start, taken) = self.taken.range_mut(..=address).next_back()?;
        (address - start < taken.size).then_some((start, taken))
    }

    /// The pool of the segment around an address, where that needs no search.
    #[inline]
    pub(super) fn pool_nearby(&self, address: u64) -> Option<PoolId> {
        self.nearby.get(address)
    }

    /// The pool of the segment around an address, where blocks were found in it before.
    pub(super) fn pool_at(&mut self, address: u64) -> Option<PoolId> {
        if let Some(pool) = self.nearby.get(address) {
            return Some(pool);
        }
        let (start, taken) = self.taken_at(address).filter(|(_, taken)| taken.segment)?;
        let (end, pool) = (start.saturating_add(taken.size), taken.event.origin.pool);
        // A damaged recording may tell of another piece inside.
        let next = self.taken.range(address.saturating_add(1)..).next();
        let end = next.map_or(end, |(&next, _)| end.min(next));
        self.nearby.put(start..end, address, pool);
        Some(pool)
    }

    pub(super) fn reserve(&mut self, address: u64, size: u64) {
        self.reservations.insert(address, Reservation { size, keeper: None });
    }

    pub(super) fn unreserve(&mut self, address: u64) {
        self.reservations.remove(&address);
    }

    /// Which requests the reserved range around an address serves, where it has blocks.
    pub(super) fn class_at(&self, address: u64) -> Option<SizeClass> {
        match self.keeper_at(address)? {
            Referrer::PyTorch(class) => Some(class),
            Referrer::Pool => None,
        }
    }

    /// Whether the reserved range around an address is the pool's.
    pub(super) fn is_pools(&self, address: u64) -> bool {
        self.keeper_at(address) == Some(Referrer::Pool)
    }

    fn keeper_at(&self, address: u64) -> Option<Referrer> {
        let start = self.reservation_at(address)?;
        self.reservations.get(&start)?.keeper
    }

    /// Notes that blocks of a class lie in the reserved range around an address; what is mapped there
    /// comes back, the first time.
    pub(super) fn claim(&mut self, address: u64, class: SizeClass) -> Vec<(u64, Mapping)> {
        let Some(start) = self.reservation_at(address) else { return Vec::new() };
        let Some(reservation) = self.reservations.get_mut(&start) else { return Vec::new() };
        if reservation.keeper == Some(Referrer::Pool)
            || reservation.keeper.replace(Referrer::PyTorch(class)).is_some()
        {
            return Vec::new();
        }
        let end = start.saturating_add(reservation.size);
        self.take_mappings(start, end)
    }

    /// Notes that the pool has a segment there: the reserved range around it is the pool's. What is
    /// mapped there comes back.
    pub(super) fn claim_for_pool(&mut self, address: u64, size: u64) -> Vec<(u64, Mapping)> {
        let start = self.reservation_at(address);
        let Some(reservation) = start.and_then(|start| self.reservations.get_mut(&start)) else {
            return self.take_mappings(address, address.saturating_add(size));
        };
        reservation.keeper = Some(Referrer::Pool);
        let (start, size) = (start.unwrap_or(address), reservation.size);
        self.take_mappings(start, start.saturating_add(size))
    }

    fn take_mappings(&mut self, start: u64, end: u64) -> Vec<(u64, Mapping)> {
        let within = self.mappings.range(start..end);
        let taken = within.map(|(&address, mapping)| (address, *mapping)).collect();
        remove_range(&mut self.mappings, start, end);
        taken
    }

    fn reservation_at(&self, address: u64) -> Option<u64> {
        let (&start, reservation) = self.reservations.range(..=address).next_back()?;
        (address - start < reservation.size).then_some(start)
    }

    /// Forgets the mappings that start in a range; the device of a segment's part that goes.
    pub(super) fn unmap(&mut self, address: u64, size: u64) -> Option<DeviceId> {
        let end = address.saturating_add(size);
        let device = self.grown.get(&address).copied();
        remove_range(&mut self.mappings, address, end);
        remove_range(&mut self.grown, address, end);
        device
    }
}

fn remove_range<T>(map: &mut BTreeMap<u64, T>, start: u64, end: u64) {
    while let Some((&address, _)) = map.range(start..end).next() {
        map.remove(&address);
    }
}
