//! The moments at which memory ran out.

use std::collections::BTreeMap;

use whyoom_trace::{
    Bytes, Counter, DeviceId, ProcessId, Software, StackId, StringId, Symptom, Time,
};

use crate::{category::Category, free_space::FreeSpace, space::Totals};

/// A moment at which memory ran out, and everything that was known then.
#[derive(Debug, Clone)]
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
    /// What the message says, whose it is, and its text; nothing for an event of an allocator.
    pub symptom: Option<(Symptom, Software, StringId)>,
    /// Counters read on the occasion.
    pub counters: BTreeMap<Counter, Bytes>,
    /// Processes seen to hold memory on the occasion.
    pub holders: Vec<(u32, Bytes)>,
    /// The allocator's totals, where its blocks are known.
    pub totals: Option<Totals>,
    /// Its free space as the request saw it, where its blocks are known.
    pub free_space: Option<FreeSpace>,
}

impl Incident {
    /// What was asked for.
    #[must_use]
    pub fn requested(&self) -> Option<Bytes> {
        self.counter(Counter::Requested).filter(|&requested| requested > Bytes::ZERO)
    }

    /// A counter that was read on the occasion.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> Option<Bytes> {
        self.counters.get(&counter).copied()
    }
}
