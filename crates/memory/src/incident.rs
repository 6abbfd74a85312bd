//! The moments at which memory ran out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyoom_trace::{
    Bytes, Counter, DeviceId, ProcessId, Software, StackId, StringId, Symptom, Time,
};

use crate::{
    block::Usage, category::Category, free_space::FreeSpace, growth::Growth, holder::Holder,
    interface::Interface, live::LiveSum, pools::PoolState, totals::Totals,
};

/// A moment at which memory ran out, and everything that was known then.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Incident {
    /// Whose it was.
    pub process: ProcessId,
    /// Where.
    pub device: DeviceId,
    /// When.
    pub time: Time,
    /// Who asked.
    pub stack: StackId,
    /// What was asked for, as far as the stack tells.
    pub category: Category,
    /// Whether the driver itself refused a call of the program, and not its allocator a block.
    pub of_driver: bool,
    /// The interface of the driver that refused last, where its calls were recorded.
    pub interface: Option<Interface>,
    /// The driver call that failed, if it is no allocation: a graph's instantiation, for example.
    #[serde(default)]
    pub refused_call: Option<StringId>,
    /// What the message says, whose it is, and its text; nothing for an event of an allocator.
    pub symptom: Option<(Symptom, Software, StringId)>,
    /// Counters read at the failure.
    pub counters: BTreeMap<Counter, Bytes>,
    /// Processes seen to hold memory at the failure.
    pub holders: Vec<Holder>,
    /// The allocator's totals, where its blocks are known.
    pub totals: Option<Totals>,
    /// Its free space as the request saw it, where its blocks are known.
    pub free_space: Option<FreeSpace>,
    /// What the process had taken from the driver, where that was recorded.
    pub driver: Option<DriverState>,
    /// What was live then, by who made it, the most first.
    pub live: Vec<LiveSum>,
    /// Its own number among the events: what was made before has a lower one.
    pub number: u64,
    /// Growth up to then.
    pub growth: Option<Growth>,
    /// What other recorded processes held on the device then, the most first.
    pub recorded_others: Vec<(ProcessId, Bytes)>,
    /// What the caches of such processes could have given back then: segments with nothing in them.
    pub idle_caches: Vec<(ProcessId, Bytes)>,
    /// Allocations that the process had made until then.
    pub(crate) made: u64,
}

/// What a process had taken from the driver at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverState {
    /// In use: what the allocator had given out, and what was taken beside it.
    pub in_use: Bytes,
    /// Held: the allocator's segments, what was taken beside them, what pools keep.
    pub held: Bytes,
    /// Taken beside the allocator's segments, by stack, the most first.
    pub outside: Vec<(StackId, Usage)>,
    /// The stream-ordered pools.
    pub pools: Vec<PoolState>,
    /// Pinned and registered host memory of the process.
    pub pinned: Bytes,
}

impl DriverState {
    /// What was taken beside the allocator's segments, altogether.
    #[must_use]
    pub fn outside_bytes(&self) -> Bytes {
        self.outside.iter().map(|(_, usage)| usage.bytes).sum()
    }
}

/// Of an incident among very many, so many rows of each list are kept.
const KEPT_ROWS: usize = 16;

impl Incident {
    /// Keeps the first rows of its lists: of very many incidents all would be too much.
    pub(crate) fn shorten(&mut self) {
        if let Some(space) = &mut self.free_space {
            space.pins.truncate(KEPT_ROWS);
        }
        if let Some(driver) = &mut self.driver {
            driver.outside.truncate(KEPT_ROWS);
        }
    }

    /// What was asked for.
    #[must_use]
    pub fn requested(&self) -> Option<Bytes> {
        self.counter(Counter::Requested).filter(|&requested| requested > Bytes::ZERO)
    }

    /// A counter that was read at the failure.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> Option<Bytes> {
        self.counters.get(&counter).copied()
    }
}
