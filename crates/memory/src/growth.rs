//! Whether live bytes grow from iteration to iteration, and whose they are.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use whyoom_trace::{Address, Bytes, StackId};

use crate::{
    block::{LiveBlock, Usage},
    iterations::{Boundaries, IterationSource},
    layer::Layer,
    profile::StackProfile,
    signs::Phase,
    survivors::{Survivors, Window},
    trend::{Rise, Trend, rise, theil_sen},
};

/// Fewer boundaries show no trend.
const MIN_BOUNDARIES: usize = 5;
/// Fewer blocks of one line show no trend.
const MIN_BLOCKS: u64 = 8;
/// The same where nothing else speaks for a loop: a model's layers, its caches, a solver's fields are fewer.
const MIN_COLLECTED: u64 = 32;
/// The same of a program that kept them until it ended, and what of them has one size: what a model is loaded from
/// is fewer, or of many.
const MIN_KEPT_TO_EXIT: u64 = 100;
const ONE_SIZE: f64 = 0.9;
/// What of such blocks must have been asked for: else it is their rounding that takes the memory.
const MOSTLY_ASKED_FOR: f64 = 0.5;
/// Growth below this share of the peak is noise.
const MIN_SHARE_OF_PEAK: f64 = 0.02;
/// Of few calls, each must leave about as much as any other, and all together a good part of the peak.
const EVEN: f64 = 1.5;
const GOOD_PART_OF_PEAK: f64 = 0.25;
/// Stacks that hold less of the growth than this say nothing of what keeps it.
const WORTH_A_LOOK: f64 = 0.02;
/// Blocks an iteration up to which it is a single one, and from which on it is several.
const ONE_BLOCK: f64 = 1.1;
const SEVERAL_BLOCKS: f64 = 1.5;
/// What an allocator rounds every request up to.
const UNIT: u64 = 512;
/// Blocks of which it is told where they lie.
const MANY_BLOCKS: usize = 8192;
/// What a block that is replaced must have of all that is in use.
const MOST: f64 = 0.5;
/// What of a line's rise must be one of all that is in use.
const ADDS: f64 = 0.25;
/// How far from a line's last allocation the end may lie, as a share of the growth's own stretch.
const NEAR_THE_END: f64 = 0.25;

/// Live bytes that grow from iteration to iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// How the iterations were found.
    pub source: IterationSource,
    /// How many added something, the warm-up included.
    pub iterations: u64,
    /// Bytes that each adds.
    pub per_iteration: Bytes,
    /// The interval in which that lies with 95 % confidence.
    pub interval: (Bytes, Bytes),
    /// What they left in all: the blocks of the growing stacks that are still there.
    pub total: Bytes,
    /// Whose the bytes are, the most first.
    pub stacks: Vec<GrowingStack>,
    /// The blocks themselves, where it is known where they lie; of very many, the largest.
    pub blocks: Vec<(Address, Bytes)>,
    /// What keeps them, as far as where they were made tells.
    pub hold: Retention,
    /// Whether each block took the place of a smaller one: nothing is left behind, but the next is larger.
    pub is_replaced: bool,
    /// Whether backward was ever seen to allocate.
    pub backward: bool,
}

/// Blocks of one stack that stayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowingStack {
    /// Who made them.
    pub stack: StackId,
    /// What stayed.
    pub usage: Usage,
}

/// What keeps blocks alive, as far as where they were made tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retention {
    /// Several blocks an iteration, some from inside a module's layers and not its output: a program has no
    /// name for these, but autograd's graph saves them.
    Graph {
        /// What was made inside the layers.
        inside: Bytes,
    },
    /// One block an iteration: a value that the program keeps.
    Value,
    /// It does not tell.
    Unknown,
}

/// The stretch of the stream that something took, and what was made and ended in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RunContext {
    /// The number of the event before the first.
    pub(crate) first: u64,
    /// The number of the last event.
    pub(crate) last: u64,
    /// Blocks that were made.
    pub(crate) made: u64,
    /// Blocks that ended.
    pub(crate) ended: u64,
    /// Whether the driver's calls were recorded too, and so the run from its start.
    pub(crate) whole: bool,
    /// Whether the process ended in order.
    pub(crate) exited: bool,
    /// Who was refused memory at its end, if that is where it ended.
    pub(crate) refused: Option<StackId>,
}

impl RunContext {
    /// Both together.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            made: self.made + other.made,
            ended: self.ended + other.ended,
            whole: self.whole || other.whole,
            exited: self.exited || other.exited,
            refused: self.refused.or(other.refused),
        }
    }
}

/// A line that holds more whenever it allocates.
#[derive(Debug, Clone, Copy)]
struct GrowingLine {
    stack: StackId,
    /// What is left of what it made.
    left: Usage,
    /// How many times it added to that.
    times: u64,
    rise: Rise,
    /// When it began to rise, and when it allocated last, as events.
    begins: u64,
    latest: u64,
    /// Whether each block took the place of a smaller one, so that few are there.
    is_replaced: bool,
}

/// What growth is judged by.
pub(crate) struct Evidence<'a> {
    layer: &'a Layer,
    blocks: Vec<(Address, &'a LiveBlock)>,
    peak: Bytes,
    run_context: RunContext,
    /// Whether the program then went on to its end, so that the last iteration was finished.
    ended: bool,
}

impl<'a> Evidence<'a> {
    /// The evidence of a layer, of which `blocks` count. One that no allocator gave out lies at address 0.
    pub(crate) fn of(
        layer: &'a Layer,
        run_context: RunContext,
        blocks: Vec<(Address, &'a LiveBlock)>,
    ) -> Self {
        let (peak, _) = layer.peak();
        Self { layer, blocks, peak: peak.allocated, run_context, ended: false }
    }

    /// The same of a program that went on to its end.
    pub(crate) fn of_ended(self) -> Self {
        Self { ended: true, ..self }
    }

    /// Growth, if there is any.
    pub(crate) fn growth(&self, profile_of: impl Fn(StackId) -> StackProfile) -> Option<Growth> {
        let phase_of = |stack| profile_of(stack).phase;
        self.growth_of_iterations(phase_of).or_else(|| self.growth_of_lines(&profile_of))
    }

    /// Growth between iterations, if these were found: what stands for them otherwise holds only of a run
    /// that is seen to its end, since a model that is being loaded looks the same.
    fn growth_of_iterations(&self, phase_of: impl Fn(StackId) -> Phase) -> Option<Growth> {
        let mut found = self.layer.iterations().by_trust(MIN_BOUNDARIES, self.run_context.whole);
        found
            .find_map(|(source, boundaries)| self.trend(source, boundaries, &phase_of))
            .or_else(|| self.growth_without_backward(&phase_of))
    }

    /// Growth of an evaluation after training: few calls of the model, and each leaves much.
    fn growth_without_backward(&self, phase_of: impl Fn(StackId) -> Phase) -> Option<Growth> {
        let calls = self.layer.iterations().calls_without_backward()?;
        let levels = calls.levels();
        let trend = theil_sen(&levels).filter(|_| levels.is_sorted_by(|one, next| one < next))?;
        let bytes = trend.slope * (levels.len() - 1) as f64;
        let even = trend.high <= trend.low * EVEN;
        if !even || Bytes(bytes as u64).share_of(self.peak) < GOOD_PART_OF_PEAK {
            return None;
        }
        let rise = Rise { start: 0, trend, bytes };
        let growth = self.growth_of_rise(IterationSource::ModuleCalls, calls, rise, phase_of)?;
        // What came before was followed by backward; these calls are not.
        Some(Growth { backward: false, ..growth })
    }

    fn trend(
        &self,
        source: IterationSource,
        boundaries: &Boundaries,
        phase_of: impl Fn(StackId) -> Phase,
    ) -> Option<Growth> {
        let rise = rise(&boundaries.levels())?;
        let worth = self.is_worth_naming(Bytes(rise.bytes as u64));
        worth.then(|| self.growth_of_rise(source, boundaries, rise, phase_of)).flatten()
    }

    /// Growth whose bytes rise like this at the boundaries, if something stayed that explains it.
    fn growth_of_rise(
        &self,
        source: IterationSource,
        boundaries: &Boundaries,
        rise: Rise,
        phase_of: impl Fn(StackId) -> Phase,
    ) -> Option<Growth> {
        let events: Vec<u64> = boundaries.kept().iter().map(|boundary| boundary.at.event).collect();
        let (stride, latest) = (boundaries.stride(), self.latest(boundaries));
        let steps = (events.len() - rise.start) as u64 - 1;
        let window = Window { events: &events[rise.start..], iterations: steps * stride };
        let survivors = self.survivors(|_| true);
        // Bytes that grew but belong to nothing that stayed are an artefact of where the
        // boundaries fell.
        let growing = survivors.growing(window.events, rise.bytes)?;
        let later = self.later_iterations(boundaries, &survivors, &growing, window);
        let stacks = growing.iter().map(|&stack| {
            let last = match later {
                1 if stride == 1 && !self.ended => survivors.last(stack, latest, window),
                _ => survivors.each(stack, window).times(later),
            };
            (stack, survivors.before(stack, latest).plus(last))
        });
        let stacks = stacks.collect();
        let first = survivors.first(&growing)?;
        // What was left before the first boundary is of the iteration before that.
        let skipped = events.partition_point(|event| *event <= first) as u64;
        let begun = boundaries.seen() - skipped.saturating_sub(1) * stride;
        let iterations = begun + later - u64::from(skipped > 0) - self.begun_after(boundaries);
        let growth = Growth {
            source,
            iterations,
            per_iteration: Bytes((rise.trend.slope / stride as f64) as u64),
            interval: interval(rise.trend, 1.0 / stride as f64),
            ..self.growth_of_stacks(stacks, &survivors)
        };
        // Where not every boundary is kept, it is not known which iterations left nothing.
        let active = if stride == 1 { survivors.iterations(&growing, &events) } else { iterations };
        Some(self.with_hold(growth, active, phase_of))
    }

    /// When the last iteration began that is looked at.
    fn latest(&self, boundaries: &Boundaries) -> u64 {
        let mut events = boundaries.kept().iter().rev().map(|boundary| boundary.at.event);
        match boundaries.latest() {
            latest if latest <= self.run_context.last => latest,
            latest => events.find(|event| *event <= self.run_context.last).unwrap_or(latest),
        }
    }

    /// Iterations from that on which left as much as the others: the last, where it is over, and those that
    /// began later.
    fn later_iterations(
        &self,
        boundaries: &Boundaries,
        survivors: &Survivors,
        growing: &[StackId],
        window: Window<'_>,
    ) -> u64 {
        if self.ended {
            return self.begun_after(boundaries) + 1;
        }
        survivors.is_whole_iteration(growing, self.latest(boundaries), window).into()
    }

    /// Iterations that began after the end of what is looked at.
    fn begun_after(&self, boundaries: &Boundaries) -> u64 {
        let after =
            boundaries.kept().iter().filter(|boundary| boundary.at.event > self.run_context.last);
        after.count() as u64 * boundaries.stride()
    }

    /// Lines outside any module each of which holds more whenever it allocates, to the end of the run. What a program
    /// kept until it ended may also be what it had loaded: there are fewer of these, and of many sizes.
    fn growth_of_lines(&self, profile_of: impl Fn(StackId) -> StackProfile) -> Option<Growth> {
        let growth = self.kept_by_lines(profile_of)?;
        let is_loop = || growth.stacks.first().is_some_and(|worst| self.is_of_one_size(worst));
        (!self.ended || growth.iterations >= MIN_KEPT_TO_EXIT && is_loop()).then_some(growth)
    }

    /// Whether almost all that a stack left is of one size.
    fn is_of_one_size(&self, growing: &GrowingStack) -> bool {
        let mut sizes: Vec<Bytes> = (self.blocks.iter())
            .filter(|(_, block)| block.stack == growing.stack)
            .map(|(_, block)| block.size)
            .collect();
        sizes.sort_unstable();
        let most = sizes.chunk_by(|one, next| one == next).map(<[Bytes]>::len).max();
        most.unwrap_or(0) as f64 >= ONE_SIZE * sizes.len() as f64
    }

    /// What such lines hold.
    pub(crate) fn kept_by_lines(
        &self,
        profile_of: impl Fn(StackId) -> StackProfile,
    ) -> Option<Growth> {
        let phase_of = |stack| profile_of(stack).phase;
        let survivors = self
            .survivors(|block| block.stack != StackId(0) && phase_of(block.stack) == Phase::Other);
        let mut growing: Vec<GrowingLine> =
            survivors.stacks().filter_map(|stack| self.growing_line(stack, &survivors)).collect();
        growing.sort_by_key(|line| std::cmp::Reverse(line.left.bytes));
        let worst = *growing.first()?;
        if !self.works(&worst) && !self.collects(&worst, &profile_of) {
            return None;
        }
        let stacks = growing.into_iter().map(|line| (line.stack, line.left)).collect();
        let growth = self.growth_of_stacks(stacks, &survivors);
        let per_iteration = growth.total.0 / worst.times;
        let growth = Growth {
            iterations: worst.times,
            per_iteration: Bytes(per_iteration),
            interval: interval(worst.rise.trend, per_iteration as f64 / worst.rise.trend.slope),
            is_replaced: worst.is_replaced,
            ..growth
        };
        self.is_worth_naming(growth.total).then(|| self.with_hold(growth, worst.times, phase_of))
    }

    /// A line that holds more each time that it allocates, if it does.
    fn growing_line(&self, stack: StackId, survivors: &Survivors) -> Option<GrowingLine> {
        let left = survivors.of_stack(stack);
        let levels = self.layer.lines().levels(stack)?;
        let is_replaced = left.blocks < MIN_BLOCKS;
        if is_replaced && !self.is_replaced(levels, left) {
            return None;
        }
        let times = if is_replaced { levels.seen() } else { left.blocks };
        let rise = self.rise_of_line(levels, left)?;
        let (begins, latest) = (levels.kept()[rise.start].at.event, levels.latest());
        Some(GrowingLine { stack, left, times, rise, begins, latest, is_replaced })
    }

    /// Whether a line made most of what is in use, and that a larger one replaced each time. Steps whose input
    /// grows look alike in a run that had memory enough, and are no leak.
    fn is_replaced(&self, levels: &Boundaries, left: Usage) -> bool {
        let in_use = || self.blocks.iter().map(|(_, block)| block.size).sum();
        self.run_context.refused.is_some()
            && levels.seen() >= MIN_BLOCKS
            && left.bytes.share_of(in_use()) >= MOST
    }

    /// Whether a line is part of a loop that works. While a model is loaded everything stays, and nothing is
    /// wrong: a loop also ends most of what it makes, or, in a program that came to its end, at least something
    /// each time. What was made before the line began to rise was set up; what was made since its last block is of
    /// an iteration that is under way.
    fn works(&self, line: &GrowingLine) -> bool {
        let RunContext { made, ended, exited, refused, .. } = self.run_context;
        let born_in = |events: Range<u64>| {
            self.blocks.iter().filter(|(_, block)| events.contains(&block.born)).count() as u64
        };
        let set_up = born_in(0..line.begins);
        let is_cut = refused.is_some() || self.ended;
        let under_way = if is_cut { born_in(line.latest..u64::MAX) } else { 0 };
        let made = made.saturating_sub(set_up + under_way);
        ended * 2 >= made || exited && ended >= line.left.blocks
    }

    /// Whether a line that ends nothing collects what it makes: it itself was refused more. What is set up, or
    /// comes from the host, ends nothing either, and all of it is needed.
    fn collects(&self, line: &GrowingLine, profile_of: impl Fn(StackId) -> StackProfile) -> bool {
        let of_line = profile_of(line.stack);
        let same_line = |refused| profile_of(refused).python == of_line.python;
        of_line.is_outside
            && !of_line.sets_up
            && line.times >= MIN_COLLECTED
            && self.is_asked_for(line)
            && self.run_context.refused.is_some_and(same_line)
    }

    /// Whether most of what a line left is what it asked for. Not every source tells that to the byte; then it
    /// is all but a part of the allocator's unit.
    fn is_asked_for(&self, line: &GrowingLine) -> bool {
        let of_line = self.blocks.iter().filter(|(_, block)| block.stack == line.stack);
        let at_least = |block: &LiveBlock| match block.requested < block.size {
            true => block.requested,
            false => block.size.minus(Bytes(UNIT - 1)),
        };
        let asked: Bytes = of_line.map(|(_, block)| at_least(block)).sum();
        asked.share_of(line.left.bytes) >= MOSTLY_ASKED_FOR
    }

    /// The rise of what a line holds, if that goes on to the end and is what is left of it.
    fn rise_of_line(&self, levels: &Boundaries, left: Usage) -> Option<Rise> {
        let rise = rise(&levels.levels()).filter(|rise| rise.bytes <= left.bytes.0 as f64 * 2.0)?;
        let kept = &levels.kept()[rise.start..];
        // What takes the place of something else adds nothing.
        let in_all: Vec<u64> = kept.iter().map(|boundary| boundary.in_all.0).collect();
        theil_sen(&in_all).filter(|all| all.slope >= rise.trend.slope * ADDS)?;
        let (start, end) = (kept[0].at.event, levels.latest());
        let (span, steps) = (end - start, kept.len());
        let near = (span as f64 * NEAR_THE_END).max(2.0 * span as f64 / steps as f64);
        (self.run_context.last.saturating_sub(end) as f64 <= near).then_some(rise)
    }

    fn is_worth_naming(&self, bytes: Bytes) -> bool {
        bytes.share_of(self.peak) >= MIN_SHARE_OF_PEAK
    }

    /// What was made while history was recorded, is still there and counts.
    fn survivors(&self, counts: impl Fn(&LiveBlock) -> bool) -> Survivors {
        let recorded = |block: &LiveBlock| block.born > self.run_context.first && counts(block);
        Survivors::of(self.blocks.iter().copied(), recorded)
    }

    fn growth_of_stacks(&self, stacks: Vec<(StackId, Usage)>, survivors: &Survivors) -> Growth {
        let addresses = stacks.iter().flat_map(|(stack, _)| survivors.addresses(*stack));
        let mut blocks: Vec<_> = addresses.collect();
        blocks.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        blocks.truncate(MANY_BLOCKS);
        let mut stacks: Vec<_> =
            stacks.into_iter().map(|(stack, usage)| GrowingStack { stack, usage }).collect();
        stacks.sort_by_key(|growing| std::cmp::Reverse(growing.usage.bytes));
        Growth {
            source: IterationSource::RepeatedLine,
            iterations: 0,
            per_iteration: Bytes::ZERO,
            interval: (Bytes::ZERO, Bytes::ZERO),
            total: stacks.iter().map(|stack| stack.usage.bytes).sum(),
            stacks,
            blocks,
            hold: Retention::Unknown,
            is_replaced: false,
            backward: self.layer.iterations().has_backward(),
        }
    }

    /// The same, with what keeps it: by how many blocks each of the `active` iterations, which left any, left.
    fn with_hold(
        &self,
        growth: Growth,
        active: u64,
        phase_of: impl Fn(StackId) -> Phase,
    ) -> Growth {
        let outputs = self.layer.iterations();
        let each = |usage: &Usage| usage.blocks as f64 / active.max(1) as f64;
        let worth = growth
            .stacks
            .iter()
            .filter(|growing| growing.usage.bytes.share_of(growth.total) >= WORTH_A_LOOK);
        let blocks: f64 = worth.clone().map(|growing| each(&growing.usage)).sum();
        let is_inside = |growing: &&GrowingStack| {
            phase_of(growing.stack) == Phase::Forward
                && (!outputs.is_output(growing.stack) || each(&growing.usage) >= SEVERAL_BLOCKS)
        };
        let inside: Bytes = worth.filter(is_inside).map(|growing| growing.usage.bytes).sum();
        let hold = match inside {
            _ if blocks <= ONE_BLOCK => Retention::Value,
            Bytes::ZERO => Retention::Unknown,
            inside => Retention::Graph { inside },
        };
        Growth { hold, ..growth }
    }
}

/// The bounds of a trend in bytes an iteration.
fn interval(trend: Trend, scale: f64) -> (Bytes, Bytes) {
    (Bytes((trend.low * scale) as u64), Bytes((trend.high * scale) as u64))
}
