//! Which releases of cached memory the program asked for, and which the allocator made on its own.
//!
//! A trace shows segments that were given back, not why. The allocator gives back for want of memory:
//! then it takes more right afterwards than it ever had, or fails. Garbage collection, too, comes
//! right before a new segment. Everything else was asked for.

use std::collections::BTreeMap;

use whyoom_trace::{Address, PoolId};

use crate::workload::{Step, recorded_reserved};

/// All steps, with [`Step::EmptyCache`] and [`Step::RetirePool`] where they belong in the history.
pub(crate) fn infer(restored: Vec<Step>, history: Vec<Step>, collects_garbage: bool) -> Vec<Step> {
    let mut steps = restored;
    let first = steps.len();
    steps.extend(history);
    let reserved = recorded_reserved(&steps);
    let peak = reserved.iter().copied().max().unwrap_or_default();
    let mut pools = BTreeMap::new();
    steps[..first].iter().for_each(|step| note_pool(step, &mut pools));
    let mut inferred = steps[..first].to_vec();
    let mut index = first;
    while index < steps.len() {
        let run = steps[index..].iter().take_while(|step| is_release(step)).count();
        let end = index + run;
        if run > 0 {
            let before = index.checked_sub(1).map_or(0, |last| reserved[last]);
            let own = match steps.get(end) {
                Some(Step::OutOfMemory { .. }) => true,
                Some(Step::SegmentAlloc(new) | Step::SegmentMap(new)) => {
                    collects_garbage || before + new.size.0 > peak
                }
                _ => false,
            };
            request(&steps[index..end], own, &pools, &mut inferred);
        }
        let next = end.max(index + 1);
        steps[index..next].iter().for_each(|step| note_pool(step, &mut pools));
        inferred.extend_from_slice(&steps[index..next]);
        index = next;
    }
    inferred
}

/// Keeps the pool of each segment and mapped range that there is. Addresses are used again, by
/// other pools too.
fn note_pool(step: &Step, pools: &mut BTreeMap<Address, PoolId>) {
    if let Step::SegmentAlloc(segment) | Step::SegmentMap(segment) = step {
        pools.insert(segment.address, segment.pool);
    }
}

fn is_release(step: &Step) -> bool {
    matches!(step, Step::SegmentFree { .. } | Step::SegmentUnmap { .. })
}

/// What the program must have asked for so that these segments went. The allocator never gives up
/// private pools that are in use, so where one of theirs goes, its last user has gone.
fn request(run: &[Step], own: bool, pools: &BTreeMap<Address, PoolId>, inferred: &mut Vec<Step>) {
    let pool_of = |step: &Step| match step {
        Step::SegmentFree { address } | Step::SegmentUnmap { address, .. } => {
            pools.range(..=*address).next_back().map(|(_, pool)| *pool).unwrap_or_default()
        }
        _ => PoolId::default(),
    };
    let mut of_common = false;
    let mut retired: Vec<PoolId> = Vec::new();
    for pool in run.iter().map(pool_of) {
        if pool == PoolId::default() {
            of_common = true;
        } else if !retired.contains(&pool) {
            retired.push(pool);
        }
    }
    inferred.extend(retired.into_iter().map(|pool| Step::RetirePool { pool }));
    if of_common && !own {
        inferred.push(Step::EmptyCache);
    }
}
