//! The method finds what each of several invented drivers does.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use super::*;

const MIB: u64 = 1 << 20;

/// What is taken in a slab: lengths by start.
type Taken = BTreeMap<u64, u64>;

/// A driver with slabs of one size, one kind of them for each range of sizes.
struct Invented {
    unit: u64,
    slab: u64,
    limit: u64,
    /// Sizes up to each have slabs of their own.
    ranges: &'static [u64],
    free: Cell<u64>,
    next: Cell<u64>,
    /// Slabs by start: which range of sizes, and what is taken in them.
    slabs: RefCell<BTreeMap<u64, (u64, Taken)>>,
    large: RefCell<BTreeMap<u64, u64>>,
    /// How much free memory falls with every question, as if somebody else took it.
    thief: u64,
}

impl Invented {
    fn new(unit: u64, slab: u64, limit: u64) -> Self {
        Self {
            unit,
            slab,
            limit,
            ranges: &[u64::MAX],
            free: Cell::new(1 << 40),
            next: Cell::new(1 << 44),
            slabs: RefCell::default(),
            large: RefCell::default(),
            thief: 0,
        }
    }

    fn pages(&self, bytes: u64) -> u64 {
        let bytes = bytes.next_multiple_of(2 * MIB);
        self.free.set(self.free.get() - bytes);
        self.next.replace(self.next.get() + bytes)
    }

    fn place(&self, range: u64, bytes: u64) -> Option<u64> {
        let mut slabs = self.slabs.borrow_mut();
        for (start, (_, taken)) in slabs.iter_mut().filter(|(_, (known, _))| *known == range) {
            // Only the end is tried: enough for what is measured here.
            let end = taken.iter().next_back().map_or(*start, |(place, length)| place + length);
            if end + bytes <= start + self.slab {
                taken.insert(end, bytes);
                return Some(end);
            }
        }
        None
    }
}

impl Memory for Invented {
    fn free_bytes(&self) -> Result<u64> {
        self.free.set(self.free.get() - self.thief);
        Ok(self.free.get())
    }

    fn take(&self, bytes: u64) -> Result<u64> {
        if bytes > self.limit {
            let start = self.pages(bytes);
            self.large.borrow_mut().insert(start, bytes.next_multiple_of(2 * MIB));
            return Ok(start);
        }
        let range = self.ranges.iter().copied().find(|range| bytes <= *range).unwrap_or(u64::MAX);
        let bytes = bytes.next_multiple_of(self.unit);
        if let Some(place) = self.place(range, bytes) {
            return Ok(place);
        }
        let start = self.pages(self.slab);
        self.slabs.borrow_mut().insert(start, (range, Taken::new()));
        self.place(range, bytes).ok_or(Error::Unsteady)
    }

    fn give_back(&self, address: u64) {
        if let Some(bytes) = self.large.borrow_mut().remove(&address) {
            self.free.set(self.free.get() + bytes);
            return;
        }
        let mut slabs = self.slabs.borrow_mut();
        let (&start, (_, taken)) = slabs.range_mut(..=address).next_back().unwrap();
        assert!(taken.remove(&address).is_some(), "freed twice");
        if taken.is_empty() {
            slabs.remove(&start);
            self.free.set(self.free.get() + self.slab);
        }
    }
}

fn figures(driver: &Invented) -> (u64, u64, usize, Result<u64>) {
    let before = driver.free.get();
    let Small { unit, slab, in_slab, limit } = measure(driver).unwrap();
    assert_eq!(driver.free.get(), before, "everything is given back");
    (unit, slab, in_slab, limit)
}

#[test]
fn slabs_and_their_limit_are_found() {
    let (unit, slab) = (512, 2 * MIB);
    for limit in [1, 512, 100_000, MIB, MIB + 1, MIB + MIB / 2, slab - unit] {
        let driver = Invented::new(unit, slab, limit);
        assert_eq!(figures(&driver), (unit, slab, 4096, Ok(limit)), "limit {limit}");
    }
    let driver = Invented::new(256, 4 * MIB, MIB);
    assert_eq!(figures(&driver), (256, 4 * MIB, 16384, Ok(MIB)));
}

#[test]
fn what_a_context_brings_along_does_not_matter() {
    let driver = Invented::new(512, 2 * MIB, MIB);
    for _ in 0..100 {
        driver.take(1).unwrap();
    }
    assert_eq!(figures(&driver), (512, 2 * MIB, 4096, Ok(MIB)));
}

#[test]
fn ranges_of_sizes_may_have_slabs_of_their_own() {
    let mut driver = Invented::new(512, 2 * MIB, MIB);
    driver.ranges = &[4096, 65536, u64::MAX];
    assert_eq!(figures(&driver), (512, 2 * MIB, 4096, Ok(MIB)));
}

#[test]
fn where_nothing_is_shared_there_is_no_limit() {
    let driver = Invented::new(512, 2 * MIB, 0);
    let found = figures(&driver);
    assert_eq!((found.2, found.3), (1, Err(Error::NothingShared)));
}

#[test]
fn a_neighbour_who_takes_memory_is_noticed() {
    let mut driver = Invented::new(512, 2 * MIB, MIB);
    driver.thief = 4096;
    let found = measure(&driver);
    let limit = found.and_then(|small| small.limit);
    assert!(limit.is_err(), "{limit:?}");
}
