//! The blocks that are worth drawing one by one.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use whyoom_trace::{Address, Bytes, StackId};

use crate::{block::LiveBlock, category::Category, instant::Instant};

/// Blocks that are kept for their size and life: as many as can be drawn at once.
const LARGEST: usize = 100_000;
/// Blocks that are kept because they ended last: what happened before a failure is looked at closely.
const LATEST: usize = 16_384;

/// A block, from its birth to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLife {
    /// Where it lay.
    pub address: Address,
    /// What it cost.
    pub size: Bytes,
    /// Who made it.
    pub stack: StackId,
    /// The stack that carries its module, where one does.
    pub module: StackId,
    /// What it probably was.
    pub category: Category,
    /// When it was made; of what history started with, that start.
    pub born: Instant,
    /// When it ended, if it did.
    pub died: Option<Instant>,
}

impl BlockLife {
    pub(super) fn of(address: Address, block: &LiveBlock, start: Instant) -> Self {
        let LiveBlock { size, stack, category, .. } = *block;
        let born = match block.born {
            0 => start,
            event => Instant { time: block.time, event },
        };
        let module = block.module_stack();
        Self { address, size, stack, module, category, born, died: None }
    }

    /// What it takes of a picture of size over events. Among equals chance decides, so that what is kept of
    /// a loop's blocks is spread over all of its turns.
    fn weight(&self, end: u64) -> (u128, u64) {
        let died = self.died.map_or(end, |died| died.event);
        let life = died.saturating_sub(self.born.event) + 1;
        (u128::from(self.size.0) * u128::from(life), scattered(self.born.event))
    }
}

/// Scatters the bits of a number (the finalizer of splitmix64).
fn scattered(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

/// The blocks worth drawing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetainedBlocks {
    /// How many there were in all.
    pub seen: u64,
    /// In order of birth.
    pub blocks: Vec<BlockLife>,
}

impl RetainedBlocks {
    /// Whether every block that ever was is among them.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.seen == self.blocks.len() as u64
    }
}

/// A life that is among the largest, by its weight.
#[derive(Debug)]
struct Weighed {
    weight: (u128, u64),
    life: BlockLife,
}

impl PartialEq for Weighed {
    fn eq(&self, other: &Self) -> bool {
        self.weight == other.weight
    }
}

impl Eq for Weighed {}

impl PartialOrd for Weighed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Weighed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.cmp(&other.weight)
    }
}

/// Lives that are over, as they come. Which of them are the largest is worked out when somebody asks: until then those
/// that may be are gathered, and every so often the smallest of them go.
#[derive(Debug, Default)]
pub(super) struct Lives {
    seen: u64,
    /// What may be among the largest, of all but the latest.
    candidates: Vec<BlockLife>,
    /// Of no more than this, a life is not among the largest.
    threshold: Option<(u128, u64)>,
    /// The last that came, the oldest first.
    latest: VecDeque<BlockLife>,
}

impl Lives {
    pub(super) fn ended(&mut self, life: BlockLife) {
        self.seen += 1;
        if self.latest.len() >= LATEST
            && let Some(older) = self.latest.pop_front()
        {
            self.gather(older);
        }
        self.latest.push_back(life);
    }

    fn gather(&mut self, life: BlockLife) {
        if self.threshold.is_some_and(|threshold| life.weight(0) <= threshold) {
            return;
        }
        self.candidates.push(life);
        if self.candidates.len() >= LARGEST + LARGEST / 2 {
            let smallest = keep_largest(&mut self.candidates, LARGEST, 0);
            self.threshold = smallest.map(|life| life.weight(0));
        }
    }

    /// The largest of all, and what came last of those that are not among them: as if each had been weighed against the
    /// smallest of the largest when it came, and one of the two had been passed over.
    fn sorted_out(&self) -> (Vec<BlockLife>, VecDeque<BlockLife>) {
        let passed = self.seen.saturating_sub(LARGEST as u64).min(self.latest.len() as u64);
        let (first, last) = (self.latest.len() - passed as usize, passed as usize);
        let mut largest: Vec<BlockLife> =
            self.candidates.iter().chain(self.latest.iter().take(first)).copied().collect();
        keep_largest(&mut largest, LARGEST, 0);
        let weighed = |life: BlockLife| Reverse(Weighed { weight: life.weight(0), life });
        let mut largest: BinaryHeap<_> = largest.into_iter().map(weighed).collect();
        let mut latest = VecDeque::with_capacity(last);
        for &life in self.latest.iter().skip(first) {
            let mut passed = weighed(life);
            if let Some(mut smallest) = largest.peek_mut()
                && passed.0 > smallest.0
            {
                std::mem::swap(&mut *smallest, &mut passed);
            }
            latest.push_back(passed.0.life);
        }
        (largest.into_iter().map(|weighed| weighed.0.life).collect(), latest)
    }

    /// The blocks worth drawing of those that are over and those that live: at most so many.
    pub(super) fn retained_blocks(&self, live: Vec<BlockLife>, most: usize) -> RetainedBlocks {
        let seen = self.seen + live.len() as u64;
        let (largest, latest) = self.sorted_out();
        let mut blocks: Vec<BlockLife> =
            largest.into_iter().chain(live).chain(latest.iter().copied()).collect();
        let end = blocks.iter().map(|life| life.died.unwrap_or(life.born).event).max().unwrap_or(0);
        if blocks.len() > most {
            // A fifth for what ended last, the rest for what is largest.
            let latest = latest.len().min(most / 5);
            let (kept, mut others) = (blocks.split_off(blocks.len() - latest), blocks);
            keep_largest(&mut others, most - kept.len(), end);
            blocks = others.into_iter().chain(kept).collect();
        }
        blocks.sort_unstable_by_key(|life| (life.born, life.address));
        RetainedBlocks { seen, blocks }
    }
}

/// Keeps so many of the largest, in no order; the smallest of these, where any had to go.
fn keep_largest(lives: &mut Vec<BlockLife>, most: usize, end: u64) -> Option<BlockLife> {
    if lives.len() <= most {
        return None;
    }
    lives.select_nth_unstable_by_key(most, |life| Reverse(life.weight(end)));
    lives.truncate(most);
    lives.iter().min_by_key(|life| life.weight(end)).copied()
}

#[cfg(test)]
mod tests {
    use whyoom_trace::Time;

    use super::*;

    /// What is kept where each life is weighed as it comes.
    fn weighed_one_by_one(lives: &[BlockLife]) -> (Vec<BlockLife>, Vec<BlockLife>) {
        let (mut largest, mut latest) = (BinaryHeap::new(), VecDeque::new());
        for &life in lives {
            largest.push(Reverse(Weighed { weight: life.weight(0), life }));
            if largest.len() > LARGEST {
                latest.extend(largest.pop().map(|smallest| smallest.0.life));
            }
            if latest.len() > LATEST {
                latest.pop_front();
            }
        }
        (largest.into_iter().map(|one| one.0.life).collect(), latest.into())
    }

    fn life(event: u64) -> BlockLife {
        let size = Bytes(512 * (1 + scattered(event) % 1000));
        let born = Instant { time: Time(event), event };
        let died = Instant { time: Time(event + 9), event: event + scattered(event ^ 77) % 5000 };
        BlockLife {
            address: Address(event),
            size,
            stack: StackId(1),
            module: StackId(1),
            category: Category::Unattributed,
            born,
            died: Some(died),
        }
    }

    #[test]
    fn what_is_kept_is_what_would_be_if_each_were_weighed_as_it_came() {
        let born = |life: &BlockLife| life.born.event;
        for many in [10, LARGEST as u64, (LARGEST + 100) as u64, 4 * LARGEST as u64] {
            let all: Vec<BlockLife> = (0..many).map(life).collect();
            let mut lives = Lives::default();
            all.iter().for_each(|&life| lives.ended(life));
            let (mut largest, latest) = lives.sorted_out();
            let (mut expected, passed) = weighed_one_by_one(&all);
            largest.sort_unstable_by_key(born);
            expected.sort_unstable_by_key(born);
            assert!(largest == expected, "other large ones of {many}");
            assert!(latest == passed, "other late ones of {many}");
            assert!(lives.candidates.len() < LARGEST + LARGEST / 2);
        }
    }
}
