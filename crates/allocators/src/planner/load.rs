//! The lower bound.

use std::collections::BTreeMap;

use super::Item;

/// The largest sum of sizes that live at one time, over all partitions: since those never share
/// bytes, each contributes its own largest sum. No packing is lower.
pub fn max_load(items: &[Item]) -> u64 {
    let mut changes: BTreeMap<u32, Vec<(u64, bool, u64)>> = BTreeMap::new();
    for item in items.iter().filter(|item| item.takes_room()) {
        let partition = changes.entry(item.partition).or_default();
        partition.push((item.lower, true, item.size));
        partition.push((item.upper, false, item.size));
    }
    changes.into_values().map(largest_sum).fold(0, u64::saturating_add)
}

/// Ends sort before starts at the same moment: `upper` is exclusive.
fn largest_sum(mut changes: Vec<(u64, bool, u64)>) -> u64 {
    changes.sort_unstable();
    let (mut live, mut largest) = (0_u128, 0);
    for (_, starts, size) in changes {
        live = if starts { live + u128::from(size) } else { live - u128::from(size) };
        largest = largest.max(live);
    }
    u64::try_from(largest).unwrap_or(u64::MAX)
}
