//! One process's memory on one device.

use whyoom_trace::{
    Action, Address, Bytes, Event, MarkKind, PoolId, SegmentGrowth, SizeClass, StackId, StreamId,
    Tables, Time,
};

use crate::{
    address_map::{MappedSegment, address_map},
    block::{ByAddress, LiveBlock, Usage, usage_by},
    category::Category,
    driver::DriverMemory,
    free_space::{FreeSpace, Request},
    growth::{Evidence, Growth},
    iterations::{Boundary, Iterations},
    peak::Peak,
    profile::Profiles,
    segments::{Segment, Segments},
    sums::LiveSums,
    timeline::{Moment, Timeline},
};

/// Sums over one space at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// What the allocator holds.
    pub reserved: Bytes,
    /// What it has given to the program.
    pub allocated: Bytes,
    /// That, and what waits for a stream before it is free.
    pub active: Bytes,
    /// What the program asked for.
    pub requested: Bytes,
    /// Blocks that are active.
    pub blocks: u64,
    /// Segments.
    pub segments: u64,
}

/// One process's memory on one device.
#[derive(Debug, Default)]
pub struct Space {
    segments: Segments,
    live: ByAddress<LiveBlock>,
    driver: DriverMemory,
    totals: Totals,
    peak: Peak,
    peak_reserved: Bytes,
    sums: LiveSums,
    timeline: Timeline,
    iterations: Iterations,
    history_started_at: u64,
    last_event: u64,
    made: u64,
    ended: u64,
    refusals: u64,
    expandable: bool,
}

impl Space {
    /// The sums at the end of what was seen.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The sums at the moment when most was allocated, and when that was.
    #[must_use]
    pub fn peak(&self) -> (Totals, Time) {
        (self.peak.totals, self.peak.time)
    }

    /// The most that the allocator ever held.
    #[must_use]
    pub fn peak_reserved(&self) -> Bytes {
        self.peak_reserved
    }

    /// The blocks in use at the end, in no order.
    pub fn blocks(&self) -> impl Iterator<Item = (Address, &LiveBlock)> {
        self.live.iter().map(|(&address, block)| (address, block))
    }

    /// The segments at the end, in order of address.
    pub fn segments(&self) -> impl Iterator<Item = (Address, &Segment)> {
        self.segments.iter()
    }

    /// What was live at the peak by category, the most first.
    #[must_use]
    pub fn peak_by_category(&self) -> Vec<(Category, Usage)> {
        usage_by(self.peak.blocks().values(), |block| block.category)
    }

    /// The block that made the peak: the youngest of those that were live then.
    #[must_use]
    pub fn peak_maker(&self) -> Option<&LiveBlock> {
        self.peak.blocks().values().max_by_key(|block| block.born)
    }

    /// What was live at the peak by stack, the most first.
    #[must_use]
    pub fn peak_by_stack(&self) -> Vec<(StackId, Usage)> {
        usage_by(self.peak.blocks().values(), |block| block.stack)
    }

    /// What is live now by stack, the most first.
    #[must_use]
    pub fn live_by_stack(&self) -> Vec<(StackId, Usage)> {
        usage_by(self.live.values(), |block| block.stack)
    }

    /// What segments each pool holds at the end, the most first: the pool and its bytes.
    #[must_use]
    pub fn reserved_by_pool(&self) -> Vec<(PoolId, Bytes)> {
        let mut pools = std::collections::BTreeMap::<PoolId, Bytes>::new();
        for (_, segment) in self.segments.iter() {
            let sum = pools.entry(segment.pool).or_default();
            *sum = sum.plus(segment.size);
        }
        let mut pools: Vec<_> = pools.into_iter().collect();
        pools.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        pools
    }

    /// What was taken from the driver and is still held, by the interface it came through.
    #[must_use]
    pub fn driver_memory(&self) -> &std::collections::BTreeMap<whyoom_trace::MemoryKind, Bytes> {
        self.driver.by_kind()
    }

    /// Memory over time.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// How many blocks history made, and how many it ended. None of either means: no history.
    #[must_use]
    pub fn history(&self) -> (u64, u64) {
        (self.made, self.ended)
    }

    /// Whether expandable segments were seen.
    #[must_use]
    pub fn has_expandable_segments(&self) -> bool {
        self.expandable
    }

    /// Free space at the end, as a large request on the default stream and pool would see it.
    #[must_use]
    pub fn free_space(&self) -> FreeSpace {
        let request = Request { stream: StreamId(0), pool: PoolId(0), class: SizeClass::Large };
        self.free_space_for(request)
    }

    pub(crate) fn free_space_for(&self, request: Request) -> FreeSpace {
        FreeSpace::measure(self.address_map(), request)
    }

    /// Where everything lies now: segments in order of address, with the blocks that pin each.
    pub fn address_map(&self) -> impl Iterator<Item = MappedSegment> {
        address_map(&self.segments, &self.live)
    }

    /// Counts a request that failed; the count with it comes back.
    pub(crate) fn count_refusal(&mut self) -> u64 {
        self.refusals += 1;
        self.refusals
    }

    /// Growth from iteration to iteration, if there is any.
    pub(crate) fn growth(&self, profiles: &Profiles) -> Option<Growth> {
        let evidence = Evidence {
            iterations: &self.iterations,
            blocks: self.live.values().collect(),
            peak: self.peak.totals.allocated,
            history: (self.history_started_at, self.last_event),
            made: self.made,
            ended: self.ended,
        };
        evidence.growth(|stack| profiles.known(stack).phase)
    }

    /// Takes an event of this process and device, the `number`th of the stream.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        number: u64,
        tables: &Tables,
        profiles: &mut Profiles,
    ) {
        self.last_event = number;
        match event.action {
            Action::BlockAlloc { address, requested, size } => {
                self.block_alloc(event, number, (address, requested, size), tables, profiles);
            }
            Action::BlockFreeRequested { address } => self.block_free_requested(address),
            Action::BlockFree { address } => self.block_free(address),
            Action::SegmentAlloc { address, size, class, growth } => {
                self.segment_add(event, address, size, (class, growth));
            }
            Action::SegmentMap { address, size, class } => {
                self.segment_add(event, address, size, (class, SegmentGrowth::Expandable));
            }
            Action::SegmentFree { address } => {
                self.segments.remove(address);
                self.count_segments();
            }
            Action::SegmentUnmap { address, size } => {
                self.segments.remove_range(address, size);
                self.count_segments();
            }
            Action::Alloc { kind, address, size } if event.result.0 == 0 => {
                self.driver.alloc(kind, address, size);
            }
            Action::Free { address, .. } if event.result.0 == 0 => self.driver.free(address),
            Action::Mark { kind, name } => self.mark(kind, tables.text(name), number),
            Action::HistoryStart => self.history_start(event.time, number),
            _ => return,
        }
        self.note_time(event.time);
    }

    fn block_alloc(
        &mut self,
        event: &Event,
        number: u64,
        (address, requested, size): (Address, Bytes, Bytes),
        tables: &Tables,
        profiles: &mut Profiles,
    ) {
        // An address that comes again without having been freed was freed unseen.
        self.block_free(address);
        let profile = profiles.of(event.stack, tables);
        self.iterations.allocation(profile, self.boundary(number));
        let block = LiveBlock {
            size,
            requested,
            stream: event.origin.stream,
            born: number,
            stack: event.stack,
            pool: event.origin.pool,
            category: profile.category,
            pending: false,
        };
        self.live.insert(address, block);
        self.made += 1;
        self.totals.blocks += 1;
        self.totals.active = self.totals.active.plus(size);
        self.totals.allocated = self.totals.allocated.plus(size);
        self.totals.requested = self.totals.requested.plus(requested);
        self.sums.add(&block);
        self.peak.note(address, Some(block));
        self.peak.rise(self.totals, event.time, &self.live);
    }

    fn block_free_requested(&mut self, address: Address) {
        let Some(block) = self.live.get_mut(&address).filter(|block| !block.pending) else {
            return;
        };
        block.pending = true;
        let block = *block;
        self.peak.note(address, Some(block));
        self.unallocate(&block);
    }

    fn block_free(&mut self, address: Address) {
        let Some(block) = self.live.remove(&address) else { return };
        self.ended += 1;
        self.totals.blocks -= 1;
        self.totals.active = self.totals.active.minus(block.size);
        if !block.pending {
            self.unallocate(&block);
        }
        self.peak.note(address, None);
    }

    fn unallocate(&mut self, block: &LiveBlock) {
        self.totals.allocated = self.totals.allocated.minus(block.size);
        self.totals.requested = self.totals.requested.minus(block.requested);
        self.sums.remove(block);
    }

    fn segment_add(
        &mut self,
        event: &Event,
        address: Address,
        size: Bytes,
        (class, growth): (SizeClass, SegmentGrowth),
    ) {
        let pool = event.origin.pool;
        self.expandable |= growth == SegmentGrowth::Expandable;
        let (stream, stack) = (event.origin.stream, event.stack);
        self.segments.add(address, Segment { size, stream, pool, class, growth, stack });
        self.count_segments();
    }

    fn count_segments(&mut self) {
        self.totals.reserved = self.segments.total();
        self.totals.segments = self.segments.len() as u64;
        self.peak_reserved = self.peak_reserved.max(self.totals.reserved);
    }

    fn mark(&mut self, kind: MarkKind, name: &str, number: u64) {
        let boundary = self.boundary(number);
        if kind == MarkKind::Iteration {
            self.iterations.mark(boundary);
        } else if name.starts_with("Optimizer.step") {
            self.iterations.optimizer_step(boundary);
        }
    }

    fn boundary(&self, event: u64) -> Boundary {
        Boundary { event, allocated: self.totals.allocated }
    }

    /// What was restored so far was there before: it is nobody's growth and no peak of this history.
    fn history_start(&mut self, time: Time, number: u64) {
        self.history_started_at = number;
        (self.made, self.ended) = (0, 0);
        self.iterations = Iterations::default();
        self.timeline = Timeline::default();
        for block in self.live.values_mut() {
            block.born = 0;
        }
        self.peak.restart();
        self.peak.rise(self.totals, time, &self.live);
        self.peak_reserved = self.totals.reserved;
    }

    fn note_time(&mut self, time: Time) {
        let (allocated, reserved) = (self.totals.allocated, self.totals.reserved);
        self.timeline.note(Moment { time, allocated, reserved }, &self.sums);
    }
}
