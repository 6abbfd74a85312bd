//! Which releases of cached memory the program asked for, and which the allocator made on its own.
//!
//! A trace shows segments that were given back, not why. The allocator releases segments when memory runs out:
//! then it takes more right afterwards than it ever had, or fails. Garbage collection, too, comes
//! right before a new segment, and whyoom's pool puts the pages that it takes away elsewhere at once.
//! Everything else was asked for.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_trace::{Address, PoolId};

use crate::step::{Step, recorded_reserved};

/// When an allocator releases segments on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReleasePolicy {
    /// Only when it runs out of memory.
    OnlyWhenFull,
    /// Also before it takes a new segment.
    CollectsGarbage,
    /// It moves pages; their number does not change.
    MovesPages,
}

/// All steps, with [`Step::EmptyCache`] and [`Step::RetirePool`] where they belong in the history.
pub(crate) fn infer(restored: Vec<Step>, history: Vec<Step>, policy: ReleasePolicy) -> Vec<Step> {
    let mut steps = restored;
    let first = steps.len();
    steps.extend(history);
    let reserved = recorded_reserved(&steps);
    let peak = reserved.iter().copied().max().unwrap_or_default();
    let shrinking =
        if policy == ReleasePolicy::MovesPages { shrinking(&steps) } else { Vec::new() };
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
                _ if policy == ReleasePolicy::MovesPages => !shrinking[index],
                Some(Step::SegmentAlloc(new) | Step::SegmentMap(new)) => {
                    policy == ReleasePolicy::CollectsGarbage || before + new.size.0 > peak
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

/// Of each step, whether fewer pages are mapped after the changes that come at once from there on.
fn shrinking(steps: &[Step]) -> Vec<bool> {
    let mut shrinking = vec![false; steps.len()];
    // How many bytes go on balance; nothing where pages were moved and that was not enough.
    let mut gone = Some(0_i128);
    for (step, shrinks) in steps.iter().zip(&mut shrinking).rev() {
        gone = match step {
            Step::SegmentMap(segment) => gone.map(|gone| gone - i128::from(segment.size.0)),
            Step::SegmentUnmap { size, .. } => gone.map(|gone| gone + i128::from(size.0)),
            Step::OutOfMemory { .. } => None,
            _ => Some(0),
        };
        *shrinks = gone.is_some_and(|gone| gone > 0);
    }
    shrinking
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
    let (mut retired, mut known) = (Vec::new(), BTreeSet::new());
    for pool in run.iter().map(pool_of) {
        if pool == PoolId::default() {
            of_common = true;
        } else if known.insert(pool) {
            retired.push(pool);
        }
    }
    inferred.extend(retired.into_iter().map(|pool| Step::RetirePool { pool }));
    if of_common && !own {
        inferred.push(Step::EmptyCache);
    }
}

#[cfg(test)]
mod tests {
    use whyoom_trace::{Bytes, SegmentGrowth, SizeClass, StackId, StreamId};

    use super::*;
    use crate::{
        policy::Request,
        step::{Item, Segment},
    };

    fn map(page: u64) -> Step {
        Step::SegmentMap(Segment {
            address: Address(page),
            size: Bytes(1),
            stream: StreamId(0),
            pool: PoolId(0),
            class: SizeClass::Large,
            growth: SegmentGrowth::Expandable,
        })
    }

    fn unmap(page: u64) -> Step {
        Step::SegmentUnmap { address: Address(page), size: Bytes(1) }
    }

    fn alloc() -> Step {
        let request = Request { size: 1, stream: StreamId(0), pool: PoolId(0) };
        let (address, size, stack) = (Address(0), Bytes(1), StackId(0));
        Step::Alloc { item: Item(0), request, address, size, stack }
    }

    fn asked_for(history: &[Step], policy: ReleasePolicy) -> usize {
        let steps = infer(vec![map(0), map(1), map(2)], history.to_vec(), policy);
        steps.iter().filter(|step| matches!(step, Step::EmptyCache)).count()
    }

    #[test]
    fn pages_that_move_were_not_asked_for() {
        let moved = [unmap(0), unmap(1), map(7), map(8), alloc()];
        assert_eq!(asked_for(&moved, ReleasePolicy::MovesPages), 0);
        let trimmed = [unmap(0), unmap(1), alloc()];
        assert_eq!(asked_for(&trimmed, ReleasePolicy::MovesPages), 1);
        assert_eq!(asked_for(&trimmed, ReleasePolicy::OnlyWhenFull), 1);
        let trimmed_before_growth = [unmap(0), unmap(1), map(7), alloc()];
        assert_eq!(asked_for(&trimmed_before_growth, ReleasePolicy::MovesPages), 1);
    }
}
