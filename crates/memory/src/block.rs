//! Blocks that are in use, and sums over them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use whyoom_trace::{Address, Bytes, ContextId, PoolId, StackId, StreamId, Time};

use crate::{category::Category, interface::Interface};

/// A map keyed by address. Addresses come from files, so the hash is seeded.
pub(crate) type ByAddress<T> = HashMap<Address, T, RandomState>;

/// A block in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveBlock {
    /// What it costs.
    pub size: Bytes,
    /// What was asked for.
    pub requested: Bytes,
    /// The stream it belongs to.
    pub stream: StreamId,
    /// When it was made, as the number of the event; 0 for what history started with.
    pub born: u64,
    /// The time of that.
    pub time: Time,
    /// Who asked for it.
    pub stack: StackId,
    /// What a module or an optimizer told of it later, as a stack that carries the module; 0 for nothing.
    pub label: StackId,
    /// The pool it came from.
    pub pool: PoolId,
    /// The context it was made in, of memory taken from the driver; 0 where that is not told.
    pub context: ContextId,
    /// What it probably is.
    pub category: Category,
    /// Whether that follows only from when it was made.
    pub by_phase: bool,
    /// Where it came from.
    pub interface: Interface,
    /// The program has given it back, but a stream still holds it.
    pub pending: bool,
}

impl LiveBlock {
    /// The stack that carries its module, where one does.
    #[must_use]
    pub fn module_stack(&self) -> StackId {
        if self.label == StackId(0) { self.stack } else { self.label }
    }
}

/// A sum over blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// What they cost.
    pub bytes: Bytes,
    /// How many they are.
    pub blocks: u64,
}

impl Usage {
    pub(crate) fn add(&mut self, size: Bytes) {
        self.bytes = self.bytes.plus(size);
        self.blocks += 1;
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes.plus(other.bytes), blocks: self.blocks + other.blocks }
    }

    pub(crate) fn times(self, count: u64) -> Self {
        Self { bytes: Bytes(self.bytes.0 * count), blocks: self.blocks * count }
    }
}

/// Sums over blocks by whatever `key` tells of each, the largest first.
pub(crate) fn usage_by<'a, K: Ord + Copy>(
    blocks: impl Iterator<Item = &'a LiveBlock>,
    key: impl Fn(&LiveBlock) -> K,
) -> Vec<(K, Usage)> {
    let mut sums = std::collections::BTreeMap::<K, Usage>::new();
    for block in blocks {
        sums.entry(key(block)).or_default().add(block.size);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, usage)| std::cmp::Reverse(usage.bytes));
    sums
}
