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

/// A life by its weight. The heap moves a hundred thousand of these about: lives lie elsewhere.
#[derive(Debug)]
struct Weighed {
    weight: (u128, u64),
    /// Where its life lies.
    index: u32,
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

/// Lives that are over, as they come.
#[derive(Debug, Default)]
pub(super) struct Lives {
    seen: u64,
    /// The smallest of them first, to make room.
    largest: BinaryHeap<Reverse<Weighed>>,
    /// The lives of the largest, in no order.
    lives: Vec<BlockLife>,
    /// Those that are not among the largest, the oldest first.
    latest: VecDeque<BlockLife>,
}

impl Lives {
    pub(super) fn ended(&mut self, life: BlockLife) {
        self.seen += 1;
        let weight = life.weight(0);
        if self.largest.len() < LARGEST {
            self.largest.push(Reverse(Weighed { weight, index: self.lives.len() as u32 }));
            self.lives.push(life);
            return;
        }
        let mut passed = life;
        if let Some(mut smallest) = self.largest.peek_mut()
            && weight > smallest.0.weight
        {
            smallest.0.weight = weight;
            passed = std::mem::replace(&mut self.lives[smallest.0.index as usize], life);
        }
        if self.latest.len() >= LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(passed);
    }

    /// The blocks worth drawing of those that are over and those that live: at most so many.
    pub(super) fn retained_blocks(&self, live: Vec<BlockLife>, most: usize) -> RetainedBlocks {
        let seen = self.seen + live.len() as u64;
        let largest = self.lives.iter().copied();
        let mut blocks: Vec<BlockLife> =
            largest.chain(live).chain(self.latest.iter().copied()).collect();
        let end = blocks.iter().map(|life| life.died.unwrap_or(life.born).event).max().unwrap_or(0);
        if blocks.len() > most {
            // A fifth for what ended last, the rest for what is largest.
            let latest = self.latest.len().min(most / 5);
            let (kept, mut others) = (blocks.split_off(blocks.len() - latest), blocks);
            let room = most - kept.len();
            if others.len() > room {
                others.select_nth_unstable_by_key(room, |life| Reverse(life.weight(end)));
                others.truncate(room);
            }
            blocks = others.into_iter().chain(kept).collect();
        }
        blocks.sort_unstable_by_key(|life| (life.born, life.address));
        RetainedBlocks { seen, blocks }
    }
}
