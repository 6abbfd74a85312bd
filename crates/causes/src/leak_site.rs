//! Whether a call site in a program leaves memory behind again and again.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_memory::{DriverMemory, EventCounts, Interface, LiveBlock, Site, Space, Usage};
use whyoom_trace::{Bytes, StackId};

use crate::diagnosis::Diagnosis;

/// Into how many parts the work is cut to see whether something was left in each.
const PARTS: u64 = 4;

/// What a call site left behind of what it took from the driver.
pub(crate) struct LeakSite {
    /// The call site, in the words of the program's author.
    pub(crate) call_site: String,
    /// The stacks that lead to it.
    pub(crate) stacks: BTreeSet<StackId>,
    /// The stack of the largest of what is left.
    pub(crate) worst: StackId,
    /// What is left.
    pub(crate) usage: Usage,
    /// How it was taken.
    pub(crate) interface: Interface,
    /// At how many moments something was left: between two of them the process gave back something else, so
    /// that it did not take all of it at once, for good.
    pub(crate) occasions: u64,
    /// Whether it went on to the end of the process's work.
    to_the_end: bool,
    /// Whether some was left in every part of the work.
    throughout: bool,
    /// Whether the call site has also freed some: then what is left may be what was in use when the process ended.
    frees_some: bool,
}

impl LeakSite {
    /// Whether it left something so many times, to the end of the work.
    pub(crate) fn is_kept_up(&self, times: u64) -> bool {
        self.occasions >= times && self.to_the_end && (self.throughout || !self.frees_some)
    }

    /// What each call site left that `counts`, the most first. Several stacks may lead to one call site; where that
    /// has freed some, as a function that all others allocate through has, each stack stands for itself.
    pub(crate) fn all(
        diagnosis: &Diagnosis<'_>,
        space: &Space,
        counts: impl Fn(StackId) -> bool,
    ) -> Vec<Self> {
        let Some((driver, facts)) = space.driver().zip(diagnosis.process()) else {
            return Vec::new();
        };
        let (mut groups, mut known) = (Vec::<Group<'_>>::new(), BTreeMap::<StackId, usize>::new());
        let freeing: BTreeSet<String> = driver
            .sites()
            .filter(|(_, site)| site.ended > 0)
            .map(|(stack, _)| diagnosis.call_site(stack))
            .collect();
        for (key, block) in driver.layer().blocks().filter(|(_, block)| counts(block.stack)) {
            let index = *known.entry(block.stack).or_insert_with(|| {
                let call_site = diagnosis.call_site(block.stack);
                let alone = freeing.contains(&call_site).then_some(block.stack);
                let same = |group: &Group<'_>| group.call_site == call_site && group.alone == alone;
                groups.iter().position(same).unwrap_or_else(|| {
                    groups.push(Group { call_site, alone, left: Vec::new() });
                    groups.len() - 1
                })
            });
            groups[index].left.push((block, facts.work_before(key).unwrap_or_default()));
        }
        let mut leak_sites: Vec<Self> =
            groups.into_iter().map(|group| group.leak_site(facts.event_counts())).collect();
        leak_sites.sort_by_key(|leak_site| std::cmp::Reverse(leak_site.usage.bytes));
        leak_sites
    }
}

/// Returns the stacks with which the process allocated from the driver, on any device and on the host, and how many
/// allocations each made.
pub(crate) fn driver_sites<'a>(
    diagnosis: &Diagnosis<'a>,
) -> impl Iterator<Item = (StackId, Site)> + use<'a> {
    let process = diagnosis.process;
    let spaces = diagnosis.model.spaces().filter(move |(other, ..)| *other == process);
    spaces.filter_map(|(_, _, space)| space.driver()).flat_map(DriverMemory::sites)
}

/// Blocks of one call site, with how far the process was when it made each.
struct Group<'a> {
    call_site: String,
    alone: Option<StackId>,
    left: Vec<(&'a LiveBlock, EventCounts)>,
}

impl Group<'_> {
    fn leak_site(self, work: EventCounts) -> LeakSite {
        let blocks = self.left.iter().map(|(block, _)| *block);
        let usage = Usage {
            bytes: blocks.clone().map(|block| block.size).sum(),
            blocks: self.left.len() as u64,
        };
        let largest = blocks.max_by_key(|block| block.size);
        let moments = moments(self.left.iter().map(|(_, birth)| *birth).collect());
        LeakSite {
            call_site: self.call_site,
            stacks: self.left.iter().map(|(block, _)| block.stack).collect(),
            worst: largest.map_or(StackId(0), |block| block.stack),
            usage,
            interface: largest.map_or(Interface::Device, |block| block.interface),
            occasions: moments.len() as u64,
            to_the_end: goes_on(&moments, work.made),
            throughout: is_spread(&moments, work.made),
            frees_some: self.alone.is_some(),
        }
    }
}

/// How many allocations the process had made at each of the moments at which something was left.
fn moments(mut births: Vec<EventCounts>) -> Vec<u64> {
    births.sort_unstable_by_key(|birth| birth.made);
    births.dedup_by_key(|birth| birth.ended);
    births.into_iter().map(|birth| birth.made).collect()
}

/// Whether no more work came after the last moment than twice the longest pause between two.
fn goes_on(moments: &[u64], made: u64) -> bool {
    let pause = moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    moments.last().is_some_and(|last| made.saturating_sub(last + 1) <= 2 * pause)
}

/// Whether there was such a moment in every part of the work.
fn is_spread(moments: &[u64], made: u64) -> bool {
    let part = |moment: &u64| moment * PARTS / made.max(1);
    moments.iter().map(part).collect::<BTreeSet<u64>>().len() as u64 >= PARTS
}

/// The call that gives back memory of that kind.
pub(crate) fn missing_call(interface: Interface) -> &'static str {
    match interface {
        Interface::Pinned => "cudaFreeHost(buffer);",
        Interface::Registered => "cudaHostUnregister(buffer);",
        Interface::Array => "cudaFreeArray(array);",
        Interface::StreamOrdered => "cudaFreeAsync(buffer, stream);",
        Interface::Imported => "cudaIpcCloseMemHandle(buffer);",
        Interface::Virtual => "cuMemRelease(handle);",
        Interface::Allocator | Interface::Device | Interface::Managed => "cudaFree(buffer);",
    }
}

/// How often a call site must have pinned more, and how much in all, to be named.
const TIMES: u64 = 8;
const WORTH_NAMING: Bytes = Bytes(4 << 20);

/// The call site that pins most of those that pin more and more, up to the end of the process's work, and what all
/// of them left pinned. Which of it is needed still, nobody can tell; but a program that frees other memory
/// meanwhile works in a loop.
pub(crate) fn pinned_steadily(
    diagnosis: &Diagnosis<'_>,
    space: &Space,
) -> Option<(LeakSite, Bytes)> {
    let mut sites = LeakSite::all(diagnosis, space, |_| true);
    sites.retain(|site| site.is_kept_up(TIMES));
    let total: Bytes = sites.iter().map(|site| site.usage.bytes).sum();
    let worst = sites.into_iter().next().filter(|_| total >= WORTH_NAMING)?;
    Some((worst, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn births(all: &[(u64, u64)]) -> Vec<u64> {
        moments(all.iter().map(|&(made, ended)| EventCounts { made, ended }).collect())
    }

    #[test]
    fn what_is_taken_at_once_is_one_moment() {
        assert_eq!(births(&[(0, 0), (1, 0), (2, 0)]), [0]);
        assert_eq!(births(&[(7, 4), (2, 0), (4, 2), (8, 4)]), [2, 4, 7]);
    }

    #[test]
    fn what_stops_before_the_work_ends_was_a_beginning() {
        assert!(goes_on(&[2, 5, 8], 9));
        assert!(goes_on(&[2, 5, 8], 14));
        assert!(!goes_on(&[2, 5, 8], 40));
        assert!(!goes_on(&[2], 9));
        assert!(!goes_on(&[], 0));
    }

    #[test]
    fn what_was_in_use_at_the_end_is_young() {
        assert!(is_spread(&[0, 30, 60, 99], 100));
        assert!(!is_spread(&[70, 80, 90, 99], 100));
    }
}
