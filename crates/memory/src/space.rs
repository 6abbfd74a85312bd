//! One process's memory on one device.

mod history;

use serde::{Deserialize, Serialize};
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, MarkKind, PoolId, ProcessId, SegmentGrowth, SizeClass,
    StackId, StreamId, Tables, Time,
};

use crate::{
    address_map::{MappedSegment, address_map},
    block::{LiveBlock, Usage, usage_by},
    category::Category,
    change::{Change, LayerKind, Step, frees_unseen},
    driver::{DriverEvent, DriverMemory},
    free_space::{FreeSpace, Request},
    growth::{Evidence, Growth, RunContext},
    history::{Maps, SegmentChange},
    instant::Instant,
    interface::Interface,
    layer::{Keeps, Layer},
    live::{LiveSum, live_sums},
    profile::Profiles,
    segments::{Segment, Segments},
    timeline::Timeline,
    totals::Totals,
};

/// What may be made after the peak of a run that grew to its end: one in so many.
const LATER: u64 = 20;

/// One process's memory on one device. Where a caching allocator gave out blocks, the figures are
/// theirs; where none did, they are those of the memory that was taken from the driver.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Space {
    segments: Segments,
    blocks: Layer,
    driver: Option<Box<DriverMemory>>,
    history_started_at: u64,
    last_event: u64,
    refusals: u64,
    /// The number of the event at which the address map was measured last.
    map_measured_at: u64,
    expandable: bool,
    /// Address maps for a picture, where one was asked for.
    #[serde(skip)]
    maps: Option<Box<Maps>>,
}

impl Space {
    /// A space without anything, which keeps what it is told to.
    pub(crate) fn new(keeps: Keeps) -> Self {
        let maps = keeps.history.then(Box::default);
        Self { blocks: Layer::new(keeps), maps, ..Self::default() }
    }

    /// The layer that tells most: the allocator's where it gave out blocks, else the driver's.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        match &self.driver {
            Some(driver) if !self.has_allocator() => driver.layer(),
            _ => &self.blocks,
        }
    }

    /// Whether a caching allocator's blocks or segments were seen.
    #[must_use]
    pub fn has_allocator(&self) -> bool {
        self.blocks.is_used()
    }

    /// What was taken from the driver, where its calls were recorded.
    #[must_use]
    pub fn driver(&self) -> Option<&DriverMemory> {
        self.driver.as_deref()
    }

    /// What was taken from the driver beside the allocator's segments and is still held, by stack, the
    /// most first.
    #[must_use]
    pub fn outside_by_stack(&self) -> Vec<(StackId, Usage)> {
        let outside = self.driver.iter().flat_map(|driver| driver.outside(&self.segments));
        usage_by(outside, |block| block.stack)
    }

    /// Everything that is live now, by who made it, the most first: what the allocator gave out, and what
    /// was taken beside it.
    #[must_use]
    pub fn live_sums(&self) -> Vec<LiveSum> {
        let outside = self.driver.iter().flat_map(|driver| driver.outside(&self.segments));
        live_sums(self.blocks.live().values().chain(outside), |block| self.blocks.category(block))
    }

    /// The same at the moment when most was allocated.
    #[must_use]
    pub fn live_sums_at_peak(&self) -> Vec<LiveSum> {
        let layer = self.layer();
        live_sums(layer.at_peak().0.values(), |block| layer.category(block))
    }

    /// What the process has in use: what the allocator gave out, and what was taken beside it.
    #[must_use]
    pub fn in_use(&self) -> Bytes {
        self.blocks.totals().active.plus(self.outside())
    }

    /// What the process holds: the allocator's segments, what was taken beside them, what pools keep.
    #[must_use]
    pub fn held(&self) -> Bytes {
        let idle = self.driver.as_ref().map(|driver| driver.layer().totals());
        let idle = idle.map_or(Bytes::ZERO, |totals| totals.reserved.minus(totals.active));
        self.segments.total().plus(self.outside()).plus(idle)
    }

    fn outside(&self) -> Bytes {
        // Without segments all of it is, and the sum is known: every failure asks for that of all processes.
        if self.segments.len() == 0 {
            let driver = self.driver.as_ref();
            return driver.map_or(Bytes::ZERO, |driver| driver.layer().totals().active);
        }
        let driver = self.driver.iter().flat_map(|driver| driver.outside(&self.segments));
        driver.map(|block| block.size).sum()
    }

    /// The sums at the end of what was seen.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.layer().totals()
    }

    /// The sums at the moment when most was allocated, and when that was.
    #[must_use]
    pub fn peak(&self) -> (Totals, Time) {
        self.layer().peak()
    }

    /// How many iterations began.
    #[must_use]
    pub fn iterations(&self) -> u64 {
        self.layer().iterations_begun()
    }

    /// The most that was ever held.
    #[must_use]
    pub fn peak_reserved(&self) -> Bytes {
        self.layer().peak_reserved()
    }

    /// The blocks in use at the end, in no order.
    pub fn blocks(&self) -> impl Iterator<Item = (Address, &LiveBlock)> {
        self.layer().blocks()
    }

    /// The segments at the end, in order of address.
    pub fn segments(&self) -> impl Iterator<Item = (Address, &Segment)> {
        self.segments.iter()
    }

    /// What was live at the peak by category, the most first.
    #[must_use]
    pub fn peak_by_category(&self) -> Vec<(Category, Usage)> {
        self.layer().peak_by_category()
    }

    /// The block that made the peak: the youngest of those that were live then.
    #[must_use]
    pub fn peak_maker(&self) -> Option<&LiveBlock> {
        self.layer().peak_maker()
    }

    /// What was live at the peak by stack, the most first.
    #[must_use]
    pub fn peak_by_stack(&self) -> Vec<(StackId, Usage)> {
        self.layer().peak_by_stack()
    }

    /// What is live now by stack, the most first.
    #[must_use]
    pub fn live_by_stack(&self) -> Vec<(StackId, Usage)> {
        self.layer().live_by_stack()
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

    /// Memory over time.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        self.layer().timeline()
    }

    /// How many blocks history made, and how many it ended. None of either means: no history.
    #[must_use]
    pub fn block_counts(&self) -> (u64, u64) {
        self.layer().block_counts()
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
        address_map(&self.segments, self.blocks.live())
    }

    /// Counts a request that failed; the count with it comes back.
    pub(crate) fn count_refusal(&mut self) -> u64 {
        self.refusals += 1;
        self.refusals
    }

    /// Whether the address map is small beside what happened since it was measured last.
    pub(crate) fn can_afford_map(&self, event: u64) -> bool {
        /// So many blocks are gone through in the time of a few events.
        const BLOCKS_PER_EVENT: u64 = 64;
        let since = event.saturating_sub(self.map_measured_at);
        let of_driver = self.driver.as_ref().map_or(0, |driver| driver.layer().totals().blocks);
        let size = self.blocks.totals().blocks + of_driver + self.segments.len() as u64;
        since.saturating_mul(BLOCKS_PER_EVENT) >= size
    }

    /// Notes when the address map was measured.
    pub(crate) fn map_is_measured(&mut self, event: u64) {
        self.map_measured_at = event;
    }

    /// The numbers of the first and the last event, and how many driver allocations there were and ended.
    pub(crate) fn run_context(&self) -> RunContext {
        let (made, ended) =
            self.driver.as_ref().map_or((0, 0), |driver| driver.layer().block_counts());
        let whole = self.driver.is_some();
        RunContext {
            first: self.history_started_at,
            last: self.last_event,
            made,
            ended,
            whole,
            exited: false,
            refused: None,
        }
    }

    /// How many allocations were made, through an allocator or of the driver.
    pub(crate) fn made(&self) -> u64 {
        self.blocks.block_counts().0 + self.run_context().made
    }

    /// Growth from iteration to iteration, if there is any. Whether a driver allocation is part of a loop
    /// that works is told by all that the process did: `process`.
    pub(crate) fn growth(&self, process: RunContext, profiles: &Profiles) -> Option<Growth> {
        let (made, ended) = self.blocks.block_counts();
        let RunContext { whole, exited, refused, .. } = process;
        let own = RunContext { made, ended, whole, exited, refused, ..self.run_context() };
        let of_blocks = Evidence::of(&self.blocks, own, self.blocks.blocks().collect());
        let profile_of = |stack| profiles.known(stack);
        of_blocks.growth(profile_of).or_else(|| {
            let driver = self.driver.as_ref()?;
            let outside = driver.outside(&self.segments).map(|block| (Address(0), block)).collect();
            Evidence::of(driver.layer(), process, outside).growth(profile_of)
        })
    }

    /// Growth of the allocator's blocks up to the peak, of a program that has ended: while Python ends, it
    /// gives back what it had kept.
    pub(crate) fn growth_up_to_peak(
        &self,
        process: RunContext,
        profiles: &Profiles,
    ) -> Option<Growth> {
        self.up_to_peak(process)?.growth(|stack| profiles.known(stack))
    }

    /// What lines kept up to the peak of a program that has ended, be they of a loop or of what it set up.
    pub(crate) fn kept_up_to_peak(
        &self,
        process: RunContext,
        profiles: &Profiles,
    ) -> Option<Growth> {
        self.up_to_peak(process)?.kept_by_lines(|stack| profiles.known(stack))
    }

    /// What is known up to the peak. Growth ends at the peak; where more was made later, it was none.
    fn up_to_peak(&self, process: RunContext) -> Option<Evidence<'_>> {
        let (blocks, (made, ended)) = self.blocks.at_peak();
        let (made_in_all, _) = self.blocks.block_counts();
        if made_in_all.saturating_sub(made) * LATER > made_in_all {
            return None;
        }
        let last = self.blocks.peak_maker()?.born;
        let run_context =
            RunContext { made, ended, last, whole: process.whole, ..self.run_context() };
        let blocks = blocks.iter().map(|(&address, block)| (address, block)).collect();
        Some(Evidence::of(&self.blocks, run_context, blocks).of_ended())
    }

    /// Takes an event of this process and device, the `number`th of the stream. Whether it concerned
    /// anything known here comes back.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        number: u64,
        tables: &Tables,
        profiles: &mut Profiles,
    ) -> bool {
        if self.last_event == 0 {
            self.history_started_at = number.saturating_sub(1);
        }
        self.last_event = number;
        let at = Instant { time: event.time, event: number };
        match event.action {
            Action::BlockAlloc { address, requested, size } => {
                self.block_alloc(event, number, (address, requested, size), tables, profiles);
            }
            Action::BlockFreeRequested { address } => self.blocks.free_requested(address),
            Action::BlockLabel { address, requested } => {
                let told = tables.module(event.stack).is_some_and(|module| module.role.is_kind());
                let category = told.then(|| profiles.of(event.stack, tables).category);
                self.blocks.label(address, event.stack, (category, requested));
            }
            Action::BlockFree { address } => {
                self.blocks.free(address);
            }
            Action::SegmentAlloc { address, size, class, growth } => {
                self.segment_add(event, address, size, (class, growth));
            }
            Action::SegmentMap { address, size, class } => {
                self.segment_add(event, address, size, (class, SegmentGrowth::Expandable));
            }
            Action::SegmentFree { address } => self.segments_change(SegmentChange::Remove(address)),
            Action::SegmentUnmap { address, size } => {
                self.segments_change(SegmentChange::RemoveRange(address, size));
            }
            Action::Mark { kind, name } => self.mark(kind, tables.text(name), at),
            Action::HistoryStart => self.history_start(event.time, number),
            _ if event.result.0 == 0 => {
                let event = DriverEvent { event, number, tables };
                let known = self.driver_event(&event, profiles);
                self.keep_map(at);
                return known;
            }
            _ => return true,
        }
        self.blocks.note(at, profiles, tables);
        self.keep_map(at);
        true
    }

    fn driver_event(&mut self, event: &DriverEvent<'_>, profiles: &mut Profiles) -> bool {
        let new = || Box::new(DriverMemory::new(self.blocks.keeps()));
        self.driver.get_or_insert_with(new).event(event, profiles)
    }

    /// Moves what an event changed here to `changes`, where that is kept.
    pub(crate) fn move_changes(
        &mut self,
        space: (ProcessId, DeviceId),
        event: &Event,
        changes: &mut Option<Vec<Change>>,
    ) {
        let Some(changes) = changes else { return };
        let unseen = frees_unseen(&event.action);
        let mut gather = |layer, of_layer: &mut Layer| {
            changes.extend(of_layer.take_changes().into_iter().map(|(address, block, step)| {
                let unseen = unseen && step == Step::Freed;
                Change { space, layer, address, block, step, unseen }
            }));
        };
        gather(LayerKind::Blocks, &mut self.blocks);
        if let Some(driver) = &mut self.driver {
            gather(LayerKind::Driver, driver.layer_mut());
        }
    }

    /// Ends a context, if driver memory was made in it.
    pub(crate) fn end_context(&mut self, event: &DriverEvent<'_>, profiles: &mut Profiles) {
        if let Some(driver) = &mut self.driver {
            driver.end_context(event.event.origin.context, event, profiles);
        }
    }

    fn block_alloc(
        &mut self,
        event: &Event,
        number: u64,
        (address, requested, size): (Address, Bytes, Bytes),
        tables: &Tables,
        profiles: &mut Profiles,
    ) {
        let profile = profiles.of(event.stack, tables);
        let block = LiveBlock {
            size,
            requested,
            stream: event.origin.stream,
            born: number,
            time: event.time,
            stack: event.stack,
            label: StackId(0),
            pool: event.origin.pool,
            context: event.origin.context,
            category: profile.category,
            by_phase: profile.by_phase,
            interface: Interface::Allocator,
            pending: false,
        };
        self.allocator_appears();
        if self.blocks.alloc(address, block, profile)
            && let Some(maps) = &mut self.maps
        {
            maps.peak_rises(&self.segments);
        }
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
        let segment = Segment { size, stream, pool, class, growth, stack };
        self.allocator_appears();
        self.segments_change(SegmentChange::Add(address, segment));
    }

    fn segments_change(&mut self, change: SegmentChange) {
        change.apply(&mut self.segments);
        if let Some(maps) = &mut self.maps {
            maps.segments_change(change);
        }
        self.blocks.set_reserved(self.segments.total(), self.segments.len() as u64);
    }

    fn mark(&mut self, kind: MarkKind, name: &str, at: Instant) {
        self.blocks.mark(kind, name, at);
        if let Some(driver) = &mut self.driver {
            driver.layer_mut().mark(kind, name, at);
        }
    }

    fn history_start(&mut self, time: Time, number: u64) {
        self.history_started_at = number;
        self.blocks.history_start(time);
        if let Some(driver) = &mut self.driver {
            driver.layer_mut().history_start(time);
        }
        if let Some(maps) = &mut self.maps {
            maps.restart();
            maps.peak_rises(&self.segments);
        }
    }
}
