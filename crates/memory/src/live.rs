//! Everything that is live at one instant, by who made it and what it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyoom_trace::{Bytes, StackId, Tables};

use crate::{
    block::{LiveBlock, Usage},
    call_site::call_site,
    category::Category,
    interface::Interface,
};

/// Sums beyond these are too small to matter. A model may have thousands of modules, each with parameters, gradients
/// and optimizer state.
const MOST: usize = 1 << 14;

/// What is live of one stack, label, kind and interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveSum {
    /// Who made it.
    pub stack: StackId,
    /// What a module or an optimizer told of it, as a stack that carries the module; 0 for nothing.
    pub label: StackId,
    /// What it probably is.
    pub category: Category,
    /// Where it came from.
    pub interface: Interface,
    /// How much it is.
    pub usage: Usage,
    /// How much of that was asked for, as far as the source tells.
    pub requested: Bytes,
    /// When the oldest of it was made, as the number of the event.
    pub oldest: u64,
    /// When the newest of it was made.
    pub newest: u64,
}

impl LiveSum {
    /// The stack that carries its module, where one does.
    #[must_use]
    pub fn module_stack(&self) -> StackId {
        if self.label == StackId(0) { self.stack } else { self.label }
    }
}

/// What is live of one call site in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCallSite {
    /// The call site.
    pub call_site: String,
    /// What it probably is.
    pub category: Category,
    /// Where it came from.
    pub interface: Interface,
    /// How much it is.
    pub usage: Usage,
    /// When the oldest of it was made, as the number of the event.
    pub oldest: u64,
    /// When the newest of it was made.
    pub newest: u64,
}

/// Sums over blocks, the most first.
pub(crate) fn live_sums<'a>(
    blocks: impl Iterator<Item = &'a LiveBlock>,
    category: impl Fn(&LiveBlock) -> Category,
) -> Vec<LiveSum> {
    let mut sums = BTreeMap::<(StackId, StackId, Category, Interface), LiveSum>::new();
    for block in blocks {
        let (stack, label, category, interface) =
            (block.stack, block.label, category(block), block.interface);
        let sum = sums.entry((stack, label, category, interface)).or_insert(LiveSum {
            stack,
            label,
            category,
            interface,
            usage: Usage::default(),
            requested: Bytes::ZERO,
            oldest: u64::MAX,
            newest: 0,
        });
        sum.usage.add(block.size);
        sum.requested = sum.requested.plus(block.requested);
        (sum.oldest, sum.newest) = (sum.oldest.min(block.born), sum.newest.max(block.born));
    }
    let mut sums: Vec<LiveSum> = sums.into_values().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.usage.bytes));
    sums.truncate(MOST);
    sums
}

/// The same by call site, the most first: several stacks may lead to one line.
#[must_use]
pub fn live_call_sites(tables: &Tables, sums: &[LiveSum]) -> Vec<LiveCallSite> {
    let mut call_sites = BTreeMap::<(String, Category, Interface), LiveCallSite>::new();
    for &LiveSum { stack, category, interface, usage, oldest, newest, .. } in sums {
        let call_site = call_site(tables, stack);
        let none = Usage::default();
        let sum = call_sites.entry((call_site.clone(), category, interface)).or_insert_with(|| {
            LiveCallSite { call_site, category, interface, usage: none, oldest, newest }
        });
        sum.usage = sum.usage.plus(usage);
        (sum.oldest, sum.newest) = (sum.oldest.min(oldest), sum.newest.max(newest));
    }
    let mut call_sites: Vec<LiveCallSite> = call_sites.into_values().collect();
    call_sites.sort_by_key(|call_site| std::cmp::Reverse(call_site.usage.bytes));
    call_sites
}
