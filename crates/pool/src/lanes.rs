//! The lanes of a device, found without a lock.
//!
//! The table only grows. What is looked at to find a lane lies apart from the lanes themselves, which
//! change all the time.

use std::sync::{
    OnceLock,
    atomic::Ordering::{Acquire, Relaxed, Release},
};

use crate::{
    lane::{Lane, MOST},
    lane_key::Key,
    sync::{AtomicBool, AtomicU64, AtomicUsize, Lock},
};

/// Ranges of addresses at most: one for small and one for large requests of each lane.
const MOST_RANGES: usize = 2 * MOST;

#[derive(Default)]
struct KeySlot {
    stream: AtomicU64,
    pool: AtomicU64,
    /// Whether the lane takes no requests any more.
    closed: AtomicBool,
}

impl KeySlot {
    fn is(&self, key: Key) -> bool {
        self.stream.load(Relaxed) == key.stream.0
            && self.pool.load(Relaxed) == key.pool
            && !self.closed.load(Relaxed)
    }
}

#[derive(Default)]
struct RangeSlot {
    start: AtomicU64,
    end: AtomicU64,
    lane: AtomicUsize,
}

/// The lanes.
pub(crate) struct Lanes {
    keys: Box<[KeySlot]>,
    lanes: Box<[OnceLock<Box<Lane>>]>,
    count: AtomicUsize,
    ranges: Box<[RangeSlot]>,
    range_count: AtomicUsize,
    adding: Lock<()>,
}

impl Lanes {
    pub(crate) fn new() -> Self {
        Self {
            keys: (0..MOST).map(|_| KeySlot::default()).collect(),
            lanes: (0..MOST).map(|_| OnceLock::new()).collect(),
            count: AtomicUsize::new(0),
            ranges: (0..MOST_RANGES).map(|_| RangeSlot::default()).collect(),
            range_count: AtomicUsize::new(0),
            adding: Lock::new(()),
        }
    }

    /// The lane of a key. It may have become another's when it is locked: whoever locks it looks.
    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<&Lane> {
        // Whoever reads a count sees what was written before it.
        let count = self.count.load(Acquire);
        let index = self.keys[..count].iter().position(|slot| slot.is(key))?;
        self.lanes[index].get().map(|lane| &**lane)
    }

    /// The lane of a key, made now if need be; none where there are too many. `reuse` makes a lane that
    /// nobody uses any more into one for the key, where it can be.
    pub(crate) fn find_or_add(
        &self,
        key: Key,
        reuse: impl Fn(&Lane) -> bool,
        make: impl FnOnce(usize) -> Lane,
    ) -> Option<&Lane> {
        let _adding = self.adding.lock();
        if let Some(lane) = self.find(key) {
            return Some(lane);
        }
        if let Some(lane) = self.closed().find(|lane| reuse(lane)) {
            self.set_key(lane.index, key);
            return Some(lane);
        }
        let index = self.count.load(Relaxed);
        let slot = self.lanes.get(index)?;
        let lane = slot.get_or_init(|| Box::new(make(index)));
        self.set_key(index, key);
        self.count.store(index + 1, Release);
        Some(lane)
    }

    fn set_key(&self, index: usize, key: Key) {
        let slot = &self.keys[index];
        slot.stream.store(key.stream.0, Relaxed);
        slot.pool.store(key.pool, Relaxed);
        slot.closed.store(false, Release);
    }

    /// A lane takes no requests any more: the next one for its key gets another.
    pub(crate) fn close(&self, lane: &Lane) {
        self.keys[lane.index].closed.store(true, Relaxed);
    }

    /// The lanes that take no requests.
    pub(crate) fn closed(&self) -> impl Iterator<Item = &Lane> {
        self.all().filter(|lane| self.keys[lane.index].closed.load(Relaxed))
    }

    /// From now on these addresses are that lane's; whether there was room to note it.
    pub(crate) fn add_range(&self, start: u64, end: u64, lane: usize) -> bool {
        let _adding = self.adding.lock();
        let index = self.range_count.load(Relaxed);
        let Some(slot) = self.ranges.get(index) else { return false };
        slot.start.store(start, Relaxed);
        slot.end.store(end, Relaxed);
        slot.lane.store(lane, Relaxed);
        self.range_count.store(index + 1, Release);
        true
    }

    /// The lane that an address belongs to.
    #[inline]
    pub(crate) fn of_address(&self, address: u64) -> Option<&Lane> {
        let count = self.range_count.load(Acquire);
        let within = |slot: &&RangeSlot| {
            slot.start.load(Relaxed) <= address && address < slot.end.load(Relaxed)
        };
        let slot = self.ranges[..count].iter().find(within)?;
        self.lanes[slot.lane.load(Relaxed)].get().map(|lane| &**lane)
    }

    /// No address belongs to a lane any more.
    pub(crate) fn forget(&self) {
        let _adding = self.adding.lock();
        let slots = &self.ranges[..self.range_count.load(Relaxed)];
        slots.iter().for_each(|slot| slot.end.store(0, Relaxed));
    }

    /// How many there are.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// All lanes, closed ones too.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Lane> {
        let count = self.count.load(Acquire);
        self.lanes[..count].iter().filter_map(|lane| lane.get().map(|lane| &**lane))
    }
}

// A model checker runs whole programs instead: see tests/interleavings.rs.
#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::thread;

    use whyoom_allocators::policies::stitch;

    use super::*;
    use crate::driver::Stream;

    fn key(stream: u64) -> Key {
        Key { stream: Stream(stream), pool: 0 }
    }

    fn lane(index: usize, key: Key) -> Lane {
        Lane::new(index, key, stitch::Lane::new(1 << 30))
    }

    #[test]
    fn a_key_has_one_lane() {
        let lanes = Lanes::new();
        let indices = thread::scope(|scope| {
            let find = || lanes.find_or_add(key(5), |_| false, |index| lane(index, key(5)));
            let threads: Vec<_> =
                (0..3).map(|_| scope.spawn(move || find().map(|lane| lane.index))).collect();
            threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Vec<_>>()
        });
        assert_eq!(indices, [Some(0); 3]);
    }

    /// Whoever sees that there is a lane sees whose it is: what a slot holds before is the default
    /// stream's key. Miri lets threads see memory as late as a processor may.
    #[test]
    fn a_lane_is_seen_with_its_key() {
        let lanes = Lanes::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                lanes.find_or_add(key(5), |_| false, |index| lane(index, key(5))).is_some()
            });
            for _ in 0..100 {
                assert!(lanes.find(key(0)).is_none());
                thread::yield_now();
            }
        });
        assert!(lanes.add_range(4096, 8192, 0));
        assert_eq!(lanes.of_address(5000).map(|lane| lane.index), Some(0));
        assert!(lanes.of_address(8192).is_none());
    }

    #[test]
    fn a_closed_lane_is_used_again() {
        let lanes = Lanes::new();
        let find = |stream| {
            let found = lanes.find_or_add(
                key(stream),
                |lane| lane.reuse(key(stream)),
                |index| lane(index, key(stream)),
            );
            found.map(|lane| lane.index)
        };
        assert_eq!((find(5), find(6)), (Some(0), Some(1)));
        if let Some(lane) = lanes.find(key(5)) {
            lane.state.lock().is_closed = true;
            lanes.close(lane);
        }
        assert!(lanes.find(key(5)).is_none());
        assert_eq!((find(7), find(5)), (Some(0), Some(2)));
    }
}
