//! One layer of a process's memory on one device: what a caching allocator gave to the program, or
//! what was taken from the driver itself. Both are looked at in the same way.

use serde::{Deserialize, Serialize};
use whyoom_trace::{Address, Bytes, MarkKind, StackId, Tables, Time};

use crate::{
    block::{ByAddress, LiveBlock, Usage, usage_by},
    category::Category,
    change::{LayerChange, Step},
    history::History,
    instant::Instant,
    iterations::{Boundaries, Boundary, Iterations},
    lines::Lines,
    peak::Peak,
    profile::{Profiles, StackProfile},
    signs::Phase,
    steady::Steady,
    sums::LiveSums,
    timeline::{Moment, Timeline},
    totals::Totals,
};

/// What is kept beside what a verdict needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Keeps {
    /// What a picture needs.
    pub(crate) history: bool,
    /// What each event changes.
    pub(crate) changes: bool,
    /// What stays from iteration to iteration.
    pub(crate) steady: bool,
}

/// What lives, what lived at the peak, whose it is, and how it went.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Layer {
    live: ByAddress<LiveBlock>,
    totals: Totals,
    peak: Peak,
    peak_reserved: Bytes,
    sums: LiveSums,
    timeline: Timeline,
    iterations: Iterations,
    lines: Lines,
    made: u64,
    ended: u64,
    /// Whether gradients and optimizer state were told, so that what was made beside them is neither.
    labelled: bool,
    /// How many of either there were at the peak.
    history_at_peak: (u64, u64),
    /// What a picture needs, where one was asked for.
    #[serde(skip)]
    history: Option<Box<History>>,
    /// What the event under way changed, where that was asked for.
    #[serde(skip)]
    changes: Option<Vec<LayerChange>>,
    /// What stays from iteration to iteration, where that was asked for.
    #[serde(skip)]
    steady: Option<Box<Steady>>,
}

impl Layer {
    pub(crate) fn new(keeps: Keeps) -> Self {
        let history = keeps.history.then(Box::default);
        let steady = keeps.steady.then(Box::default);
        Self { history, changes: keeps.changes.then(Vec::new), steady, ..Self::default() }
    }

    pub(crate) fn keeps(&self) -> Keeps {
        Keeps {
            history: self.history.is_some(),
            changes: self.changes.is_some(),
            steady: self.steady.is_some(),
        }
    }

    pub(crate) fn history(&self) -> Option<&History> {
        self.history.as_deref()
    }

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

    /// The most that was ever held.
    #[must_use]
    pub fn peak_reserved(&self) -> Bytes {
        self.peak_reserved
    }

    /// The blocks in use at the end, in no order.
    pub fn blocks(&self) -> impl Iterator<Item = (Address, &LiveBlock)> {
        self.live.iter().map(|(&address, block)| (address, block))
    }

    /// The blocks that were in use at the peak, in no order.
    pub fn peak_blocks(&self) -> impl Iterator<Item = (Address, &LiveBlock)> {
        self.peak.blocks().iter().map(|(&address, block)| (address, block))
    }

    /// The sums and the blocks when the last iteration began, of a model that keeps them; nothing where no iteration
    /// was seen.
    #[must_use]
    pub fn steady(&self) -> Option<(Totals, impl Iterator<Item = (Address, &LiveBlock)>)> {
        let (totals, blocks) = self.steady.as_ref()?.state()?;
        Some((totals, blocks.iter().map(|(&address, block)| (address, block))))
    }

    /// The sums and the blocks when most was allocated in a phase, of a model that keeps them.
    #[must_use]
    pub fn peak_in(
        &self,
        phase: Phase,
    ) -> Option<(Totals, impl Iterator<Item = (Address, &LiveBlock)>)> {
        let (totals, blocks) = self.steady.as_ref()?.peak_in(phase)?;
        Some((totals, blocks.iter().map(|(&address, block)| (address, block))))
    }

    /// How many iterations began.
    #[must_use]
    pub fn iterations_begun(&self) -> u64 {
        self.iterations.newest().map_or(0, |(_, seen)| seen)
    }

    /// The events at which iterations began; of very many, every so manyth.
    #[must_use]
    pub fn iteration_starts(&self) -> Vec<u64> {
        let trusted = self.iterations.trusted();
        let kept = trusted.into_iter().flat_map(Boundaries::kept);
        kept.map(|boundary| boundary.at.event).collect()
    }

    /// When iterations began; of very many, every so manyth, which comes with them.
    #[must_use]
    pub fn iteration_times(&self) -> (Vec<Time>, u64) {
        let trusted = self.iterations.trusted();
        let kept = trusted.into_iter().flat_map(Boundaries::kept);
        let every = trusted.map_or(1, Boundaries::stride);
        (kept.map(|boundary| boundary.at.time).collect(), every)
    }

    /// What was live at the peak by category, the most first.
    #[must_use]
    pub fn peak_by_category(&self) -> Vec<(Category, Usage)> {
        usage_by(self.peak.blocks().values(), |block| self.category(block))
    }

    /// What a block is. Where gradients and optimizer state were told, what backward and the optimizer made beside
    /// them is temporary.
    #[must_use]
    pub fn category(&self, block: &LiveBlock) -> Category {
        let made_on_the_way =
            matches!(block.category, Category::Gradients | Category::OptimizerState);
        match self.labelled && block.label == StackId(0) && block.by_phase && made_on_the_way {
            true => Category::Temporaries,
            false => block.category,
        }
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

    /// Memory over time.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// How many blocks history made, and how many it ended. None of either means: no history.
    #[must_use]
    pub fn block_counts(&self) -> (u64, u64) {
        (self.made, self.ended)
    }

    /// Whether anything ever happened in it.
    pub(crate) fn is_used(&self) -> bool {
        self.made > 0 || !self.live.is_empty() || self.peak_reserved > Bytes::ZERO
    }

    pub(crate) fn live(&self) -> &ByAddress<LiveBlock> {
        &self.live
    }

    /// The blocks that were live at the peak, and how many had been made and ended by then.
    pub(crate) fn at_peak(&self) -> (&ByAddress<LiveBlock>, (u64, u64)) {
        (self.peak.blocks(), self.history_at_peak)
    }

    pub(crate) fn iterations(&self) -> &Iterations {
        &self.iterations
    }

    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Adds a block; whether most is in use now. An address that comes again without having been freed was freed
    /// unseen.
    pub(crate) fn alloc(
        &mut self,
        address: Address,
        block: LiveBlock,
        profile: StackProfile,
    ) -> bool {
        // One search in the map tells whether something lies there, and puts the block in its place.
        if let Some(lost) = self.live.insert(address, block) {
            self.end(address, &lost);
        }
        let at = Instant { time: block.time, event: block.born };
        self.iterations.allocation(profile, block.stack, self.boundary(at));
        if self.steady.is_some() {
            // The iteration that begins with a block began without it.
            self.live.remove(&address);
            self.look_at_iterations();
            self.live.insert(address, block);
        }
        if profile.phase == Phase::Other && block.stack != StackId(0) {
            let holds = self.sums.of_stack(block.stack);
            self.lines.allocation(block.stack, self.boundary(at), holds);
        }
        self.made += 1;
        self.totals.blocks += 1;
        self.totals.active = self.totals.active.plus(block.size);
        self.totals.allocated = self.totals.allocated.plus(block.size);
        self.totals.requested = self.totals.requested.plus(block.requested);
        self.sums.add(&block);
        self.changed(address, block, Step::Taken);
        self.follow(address, Some(block));
        if let Some(steady) = &mut self.steady {
            steady.rise(profile.phase, (self.totals, block.time), &self.live);
        }
        let rises = self.peak.rise(self.totals, block.time, &self.live);
        if rises {
            self.history_at_peak = (self.made, self.ended);
        }
        rises
    }

    /// What a block is was told after it was made.
    pub(crate) fn label(
        &mut self,
        address: Address,
        label: StackId,
        (category, requested): (Option<Category>, Bytes),
    ) {
        let Some(block) = self.live.get_mut(&address).filter(|block| !block.pending) else {
            return;
        };
        let before = *block;
        // A text that names no kind says only what was going on: what a block is, its frames or an earlier label tell.
        let Some(category) = category.or((block.label == StackId(0)).then_some(block.category))
        else {
            return;
        };
        (block.label, block.category) = (label, category);
        // The recorder sees what a block costs; what the program asked for, the tensors in it tell.
        if requested > Bytes::ZERO && requested <= block.size {
            block.requested = requested;
        }
        let block = *block;
        self.labelled |= matches!(category, Category::Gradients | Category::OptimizerState);
        self.totals.requested = self.totals.requested.minus(before.requested).plus(block.requested);
        self.sums.remove(&before);
        self.sums.add(&block);
        self.peak.relabel(address, block);
        if let Some(steady) = &mut self.steady {
            steady.relabel(address, block);
        }
    }

    pub(crate) fn free_requested(&mut self, address: Address) {
        let Some(block) = self.live.get_mut(&address).filter(|block| !block.pending) else {
            return;
        };
        let before = *block;
        block.pending = true;
        let block = *block;
        self.changed(address, before, Step::GivenBack);
        self.follow(address, Some(block));
        self.unallocate(&block);
    }

    /// Ends a block, which comes back if there was one.
    pub(crate) fn free(&mut self, address: Address) -> Option<LiveBlock> {
        let block = self.live.remove(&address)?;
        self.end(address, &block);
        Some(block)
    }

    /// A block that is not in the map any more has ended.
    fn end(&mut self, address: Address, block: &LiveBlock) {
        self.ended += 1;
        self.totals.blocks -= 1;
        self.totals.active = self.totals.active.minus(block.size);
        if !block.pending {
            self.unallocate(block);
        }
        self.changed(address, *block, Step::Freed);
        self.follow(address, None);
        if let Some(history) = &mut self.history {
            history.ended(address, *block);
        }
    }

    /// A block came, changed or went.
    #[inline]
    fn follow(&mut self, address: Address, block: Option<LiveBlock>) {
        self.peak.note(address, block);
        if let Some(steady) = &mut self.steady {
            steady.note(address, block);
        }
    }

    fn look_at_iterations(&mut self) {
        if let Some(steady) = &mut self.steady {
            steady.look(&self.iterations, self.totals, &self.live);
        }
    }

    #[inline]
    fn changed(&mut self, address: Address, block: LiveBlock, step: Step) {
        if let Some(changes) = &mut self.changes {
            changes.push((address, block, step));
        }
    }

    /// What changed since this was asked for last, where that is kept.
    pub(crate) fn take_changes(&mut self) -> Vec<LayerChange> {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn unallocate(&mut self, block: &LiveBlock) {
        self.totals.allocated = self.totals.allocated.minus(block.size);
        self.totals.requested = self.totals.requested.minus(block.requested);
        self.sums.remove(block);
    }

    /// What is held altogether, and in how many segments.
    pub(crate) fn set_reserved(&mut self, reserved: Bytes, segments: u64) {
        (self.totals.reserved, self.totals.segments) = (reserved, segments);
        self.peak_reserved = self.peak_reserved.max(reserved);
    }

    pub(crate) fn mark(&mut self, kind: MarkKind, name: &str, at: Instant) {
        let boundary = self.boundary(at);
        if kind == MarkKind::Iteration {
            self.iterations.mark(boundary);
        } else if name.starts_with("Optimizer.step") {
            self.iterations.optimizer_step(boundary);
        }
        self.look_at_iterations();
    }

    fn boundary(&self, at: Instant) -> Boundary {
        let allocated = self.totals.allocated;
        Boundary { at, allocated, in_all: allocated }
    }

    /// What was restored so far was there before: it is nobody's growth and no peak of this history.
    pub(crate) fn history_start(&mut self, time: Time) {
        (self.made, self.ended) = (0, 0);
        self.history_at_peak = (0, 0);
        self.iterations = Iterations::default();
        self.lines = Lines::default();
        self.timeline = Timeline::default();
        self.history = self.history.is_some().then(Box::default);
        for block in self.live.values_mut() {
            block.born = 0;
        }
        if let Some(steady) = &mut self.steady {
            steady.restart();
        }
        self.peak.restart();
        self.peak.rise(self.totals, time, &self.live);
        self.peak_reserved = self.totals.reserved;
    }

    /// Takes the present, at the end of an event.
    pub(crate) fn note(&mut self, now: Instant, profiles: &mut Profiles, tables: &Tables) {
        let (allocated, reserved) = (self.totals.allocated, self.totals.reserved);
        self.timeline.note(Moment { time: now.time, allocated, reserved }, &self.sums);
        if let Some(history) = &mut self.history {
            history.note(now, self.totals, &self.sums, (&mut profiles.call_sites, tables));
        }
    }
}
