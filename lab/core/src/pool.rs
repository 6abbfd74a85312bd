//! A stream-ordered pool: chunks taken from the device, blocks given to streams, and the documented
//! rules by which a freed block is used again. Pure: it says what it needs and what it gives back.
//!
//! Documented: a block can be used again by its own stream at once; by another that has waited for
//! the free; by any once the free is finished; or by making the other stream wait. Each of the last
//! three can be switched off. Above the release threshold, memory goes back at a synchronize.
//! Assumed: the chunk size, best fit, and that a pool gives idle chunks back before it fails.

use std::collections::BTreeMap;

use crate::timeline::{Nanoseconds, Stamp, StreamId, Timeline};

/// The ways in which a freed block may be used by another stream.
#[derive(Clone, Copy, Debug)]
pub struct Reuse {
    /// By a stream that has waited for the free through events.
    pub follow_events: bool,
    /// By any stream once the free is finished.
    pub opportunistic: bool,
    /// By making the other stream wait for it.
    pub internal_waits: bool,
}

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) device: usize,
    pub(crate) threshold: u64,
    pub(crate) reuse: Reuse,
    pub(crate) used: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved: u64,
    pub(crate) reserved_high: u64,
    /// It ends with the last of its blocks.
    pub(crate) doomed: bool,
    chunks: BTreeMap<u64, u64>,
    free: BTreeMap<u64, FreeBlock>,
}

#[derive(Debug)]
struct FreeBlock {
    length: u64,
    /// The end of its last use, until that is known to be finished.
    freed: Option<Stamp>,
}

/// Whether a stream may use a block again whose last use ended there.
type Rule<'a> = &'a dyn Fn(&Stamp, &Timeline) -> bool;

/// A range of addresses.
pub(crate) type Chunk = (u64, u64);

impl Pool {
    pub(crate) fn new(device: usize) -> Self {
        Self {
            device,
            threshold: 0,
            reuse: Reuse { follow_events: true, opportunistic: true, internal_waits: true },
            used: 0,
            used_high: 0,
            reserved: 0,
            reserved_high: 0,
            doomed: false,
            chunks: BTreeMap::new(),
            free: BTreeMap::new(),
        }
    }

    /// A block for a stream, from what the pool has; the stream may be made to wait.
    pub(crate) fn take(
        &mut self,
        length: u64,
        stream: StreamId,
        timeline: &mut Timeline,
        now: Nanoseconds,
    ) -> Option<u64> {
        let reuse = self.reuse;
        if reuse.opportunistic {
            self.settle(now);
        }
        let own = |freed: &Stamp, _: &Timeline| freed.stream == stream;
        let waited =
            |freed: &Stamp, line: &Timeline| reuse.follow_events && line.is_behind(stream, freed);
        let finished = |freed: &Stamp, _: &Timeline| reuse.opportunistic && freed.finishes <= now;
        let any = |_: &Stamp, _: &Timeline| reuse.internal_waits;
        let rules: [Rule<'_>; 4] = [&own, &waited, &finished, &any];
        let start = rules.iter().find_map(|rule| {
            let usable = |block: &FreeBlock| {
                block.length >= length
                    && block.freed.as_ref().is_none_or(|freed| rule(freed, timeline))
            };
            let blocks = self.free.iter().filter(|(_, block)| usable(block));
            blocks.min_by_key(|(start, block)| (block.length, **start)).map(|(start, _)| *start)
        })?;
        self.split(start, length, stream, timeline);
        self.used += length;
        self.used_high = self.used_high.max(self.used);
        Some(start)
    }

    fn split(&mut self, start: u64, length: u64, stream: StreamId, timeline: &mut Timeline) {
        let Some(block) = self.free.remove(&start) else { return };
        if let Some(freed) = &block.freed
            && !timeline.is_behind(stream, freed)
        {
            timeline.wait(stream, freed);
        }
        if block.length > length {
            let rest = FreeBlock { length: block.length - length, freed: block.freed };
            self.free.insert(start + length, rest);
        }
    }

    /// Takes a block back; it waits for the work before it.
    pub(crate) fn give_back(&mut self, start: u64, length: u64, freed: Stamp) {
        self.used -= length;
        self.free.insert(start, FreeBlock { length, freed: Some(freed) });
        self.join_neighbours(start);
    }

    /// Adds a chunk that the device gave.
    pub(crate) fn grow(&mut self, (start, length): Chunk) {
        self.chunks.insert(start, length);
        self.free.insert(start, FreeBlock { length, freed: None });
        self.reserved += length;
        self.reserved_high = self.reserved_high.max(self.reserved);
    }

    /// Gives idle chunks back as long as at least `keep` is left; chunks in use stay.
    pub(crate) fn trim(&mut self, keep: u64, now: Nanoseconds) -> Vec<Chunk> {
        self.settle(now);
        let idle = |start: &u64, length: u64| {
            let block = self.free.get(start);
            block.is_some_and(|block| block.length == length && block.freed.is_none())
        };
        let idle: Vec<Chunk> = self
            .chunks
            .iter()
            .rev()
            .map(|(start, length)| (*start, *length))
            .filter(|(start, length)| idle(start, *length))
            .collect();
        let mut released = Vec::new();
        for (start, length) in idle {
            if self.reserved - length < keep {
                continue;
            }
            self.chunks.remove(&start);
            self.free.remove(&start);
            self.reserved -= length;
            released.push((start, length));
        }
        released
    }

    /// Everything it has, for its end.
    pub(crate) fn into_chunks(self) -> Vec<Chunk> {
        self.chunks.into_iter().collect()
    }

    /// Forgets the ends of uses that are finished, and joins blocks that no longer differ.
    fn settle(&mut self, now: Nanoseconds) {
        let mut settled = Vec::new();
        for (start, block) in &mut self.free {
            if block.freed.as_ref().is_some_and(|freed| freed.finishes <= now) {
                block.freed = None;
                settled.push(*start);
            }
        }
        // From the last to the first: what a block joins on its right has then joined its own.
        for start in settled.into_iter().rev() {
            self.join_neighbours(start);
        }
    }

    /// Joins a free block with those beside it that wait for the same stream, or for nothing.
    fn join_neighbours(&mut self, start: u64) {
        let Some(block) = self.free.get(&start) else { return };
        let end = start + block.length;
        if !self.chunks.contains_key(&end) {
            self.join(start, end);
        }
        if !self.chunks.contains_key(&start)
            && let Some((&before, block)) = self.free.range(..start).next_back()
            && before + block.length == start
        {
            self.join(before, start);
        }
    }

    fn join(&mut self, first: u64, second: u64) {
        let stream = |block: &FreeBlock| block.freed.as_ref().map(|freed| freed.stream);
        let (Some(left), Some(right)) = (self.free.get(&first), self.free.get(&second)) else {
            return;
        };
        if stream(left) != stream(right) {
            return;
        }
        let Some(right) = self.free.remove(&second) else { return };
        let Some(left) = self.free.get_mut(&first) else { return };
        left.length += right.length;
        let later = |freed: &Stamp| freed.position;
        if right.freed.as_ref().map(later) > left.freed.as_ref().map(later) {
            left.freed = right.freed;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::timeline::Stream;

    const MIB: u64 = 1 << 20;

    fn two_streams() -> Timeline {
        let streams = HashMap::from([(1, Stream::default()), (2, Stream::default())]);
        Timeline { streams }
    }

    /// A pool of one chunk, its whole length freed by stream 1 whose work ends at 100.
    fn pool_freed_by_stream_1(timeline: &mut Timeline) -> Pool {
        let mut pool = Pool::new(0);
        pool.grow((0, 32 * MIB));
        assert_eq!(pool.take(32 * MIB, 1, timeline, 0), Some(0));
        timeline.submit(1, 0, 0, 100);
        pool.give_back(0, 32 * MIB, timeline.stamp(1).expect("it exists"));
        pool
    }

    #[test]
    fn its_own_stream_uses_a_block_again_at_once() {
        let mut timeline = two_streams();
        let mut pool = pool_freed_by_stream_1(&mut timeline);
        assert_eq!(pool.take(MIB, 1, &mut timeline, 0), Some(0));
    }

    #[test]
    fn another_stream_waits_unless_that_is_switched_off() {
        let mut timeline = two_streams();
        let mut pool = pool_freed_by_stream_1(&mut timeline);
        pool.reuse.internal_waits = false;
        assert_eq!(pool.take(MIB, 2, &mut timeline, 99), None, "the free is not finished");
        assert_eq!(pool.take(MIB, 2, &mut timeline, 100), Some(0));
        let mut timeline = two_streams();
        let mut pool = pool_freed_by_stream_1(&mut timeline);
        assert_eq!(pool.take(MIB, 2, &mut timeline, 0), Some(0));
        assert_eq!(timeline.finishes(2), Some(100), "it was made to wait");
    }

    #[test]
    fn memory_above_the_threshold_goes_back_once_it_is_idle() {
        let mut timeline = two_streams();
        let mut pool = pool_freed_by_stream_1(&mut timeline);
        assert_eq!(pool.trim(0, 99), [], "pending");
        assert_eq!(pool.trim(32 * MIB, 100), [], "kept");
        assert_eq!(pool.trim(0, 100), [(0, 32 * MIB)]);
        assert_eq!((pool.reserved, pool.reserved_high), (0, 32 * MIB));
    }

    #[test]
    fn blocks_freed_by_several_streams_join_what_was_idle_before() {
        let mut timeline = two_streams();
        let mut pool = Pool::new(0);
        pool.grow((0, 32 * MIB));
        assert_eq!(pool.take(MIB, 1, &mut timeline, 0), Some(0));
        assert_eq!(pool.take(MIB, 1, &mut timeline, 0), Some(MIB));
        timeline.submit(1, 0, 0, 100);
        timeline.submit(2, 0, 0, 100);
        pool.give_back(0, MIB, timeline.stamp(1).expect("it exists"));
        pool.give_back(MIB, MIB, timeline.stamp(2).expect("it exists"));
        assert_eq!(pool.trim(0, 100), [(0, 32 * MIB)]);
    }

    #[test]
    fn blocks_join_within_a_chunk_only() {
        let mut timeline = two_streams();
        let mut pool = Pool::new(0);
        pool.grow((0, 4 * MIB));
        pool.grow((4 * MIB, 4 * MIB));
        let starts: Vec<_> =
            (0..4).filter_map(|_| pool.take(2 * MIB, 1, &mut timeline, 0)).collect();
        assert_eq!(starts.len(), 4);
        for start in starts {
            pool.give_back(start, 2 * MIB, timeline.stamp(1).expect("it exists"));
        }
        assert_eq!(pool.take(8 * MIB, 1, &mut timeline, 0), None);
        assert_eq!(pool.take(4 * MIB, 1, &mut timeline, 0), Some(0));
    }
}
