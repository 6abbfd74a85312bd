//! An ordered set of free blocks that finds the smallest block that fits in a few steps.
//!
//! Sizes fall into bins whose bounds are spaced like floating-point numbers: eight to each power of
//! two. A bitmap tells which bins have blocks. Within a bin, entries are kept in order, so that the
//! whole set is in order and the answer is the very same that a tree would give. A bin's order is
//! downwards: what is asked for is nearly always its smallest, and the end of a list is cheap to
//! change.

use std::cmp::Ordering;

/// A free block: what it is ordered by, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) size: u64,
    pub(crate) address: u64,
    /// Orders blocks of one size, before their addresses do.
    pub(crate) tie: u32,
    pub(crate) block: u32,
}

impl Entry {
    /// Whether it comes before another. It takes no branch: whether sizes are equal is hard to
    /// foretell.
    fn is_before(&self, other: &Self) -> bool {
        let rest = |entry: &Self| (u128::from(entry.tie) << 64) | u128::from(entry.address);
        (self.size < other.size) | ((self.size == other.size) & (rest(self) < rest(other)))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.is_before(self).cmp(&self.is_before(other))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Where an entry is, as long as nothing is inserted or removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    bin: usize,
    index: usize,
}

/// Eight bins to each power of two.
const MANTISSA_BITS: u32 = 3;
const BINS: usize = 64 << MANTISSA_BITS;
const WORDS: usize = BINS / 64;

/// Free blocks in order of size, tie and address.
#[derive(Clone, Debug, Default)]
pub(crate) struct SizeBins {
    occupied: [u64; WORDS],
    /// As far as any was ever needed: each stream has a set of its own, and most hold few sizes.
    bins: Vec<Vec<Entry>>,
}

/// The bin of a size. Larger sizes never fall into lower bins.
fn bin_of(size: u64) -> usize {
    let exponent = 63 - (size | 1).leading_zeros();
    if exponent < MANTISSA_BITS {
        return size as usize;
    }
    let mantissa = (size >> (exponent - MANTISSA_BITS)) & ((1 << MANTISSA_BITS) - 1);
    ((exponent as usize) << MANTISSA_BITS) | mantissa as usize
}

impl SizeBins {
    pub(crate) fn insert(&mut self, entry: Entry) {
        let index = bin_of(entry.size);
        if index >= self.bins.len() {
            self.grow(index);
        }
        let bin = &mut self.bins[index];
        if bin.last().is_none_or(|smallest| entry.is_before(smallest)) {
            bin.push(entry);
        } else {
            let place = bin.partition_point(|held| entry.is_before(held));
            bin.insert(place, entry);
        }
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        self.bins.resize(index + 1, Vec::new());
    }

    pub(crate) fn remove(&mut self, entry: Entry) {
        let bin = bin_of(entry.size);
        let Some(held) = self.bins.get(bin) else { return };
        let index = held.partition_point(|held| entry.is_before(held));
        if held.get(index) == Some(&entry) {
            self.remove_at(Place { bin, index });
        }
    }

    /// Removes what a search has found.
    #[inline]
    pub(crate) fn remove_at(&mut self, place: Place) {
        let bin = &mut self.bins[place.bin];
        if place.index + 1 == bin.len() {
            bin.pop();
        } else {
            bin.remove(place.index);
        }
        if bin.is_empty() {
            self.occupied[place.bin / 64] &= !(1 << (place.bin % 64));
        }
    }

    /// The first entry that is at least so large.
    #[inline(always)]
    pub(crate) fn at_least(&self, size: u64) -> Option<(Entry, Place)> {
        let bin = bin_of(size);
        let held = self.bins.get(bin)?;
        if held.first().is_none_or(|largest| largest.size < size) {
            return self.first_beyond(bin);
        }
        let index = match held.last() {
            Some(smallest) if smallest.size >= size => held.len() - 1,
            _ => held.partition_point(|held| held.size >= size) - 1,
        };
        Some((held[index], Place { bin, index }))
    }

    /// The entry behind one that a search has found, in the order.
    #[inline]
    pub(crate) fn after(&self, place: Place) -> Option<(Entry, Place)> {
        let Place { bin, index } = place;
        match index.checked_sub(1) {
            Some(index) => Some((self.bins[bin][index], Place { bin, index })),
            None => self.first_beyond(bin),
        }
    }

    /// All entries in order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Entry> {
        self.bins.iter().flat_map(|bin| bin.iter().rev()).copied()
    }

    /// The entries that are at least so large, in order.
    pub(crate) fn from(&self, size: u64) -> impl Iterator<Item = Entry> {
        let mut next = self.at_least(size);
        std::iter::from_fn(move || {
            let (entry, place) = next?;
            next = self.after(place);
            Some(entry)
        })
    }

    fn first_beyond(&self, bin: usize) -> Option<(Entry, Place)> {
        let next = bin + 1;
        let mut at = next / 64;
        let mut word = self.occupied.get(at)? & (u64::MAX << (next % 64));
        while word == 0 {
            at += 1;
            word = *self.occupied.get(at)?;
        }
        let bin = at * 64 + word.trailing_zeros() as usize;
        let held = &self.bins[bin];
        held.last().map(|entry| (*entry, Place { bin, index: held.len() - 1 }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_answers_as_a_tree_does(steps in prop::collection::vec((0..5_u8, 0..1_u64 << 34, 0..3_u32), 1..200)) {
            let (mut bins, mut tree) = (SizeBins::default(), BTreeSet::new());
            for (number, (action, size, tie)) in steps.into_iter().enumerate() {
                let size = size >> (number % 30);
                let entry = Entry { size, address: number as u64, tie, block: number as u32 };
                let first = tree.range(Entry { size, address: 0, tie: 0, block: 0 }..).next().copied();
                let found = bins.at_least(size);
                prop_assert_eq!(found.map(|(entry, _)| entry), first);
                match found.filter(|_| action < 2) {
                    Some((first, place)) => {
                        let after = tree.range(first..).nth(1).copied();
                        prop_assert_eq!(bins.after(place).map(|(entry, _)| entry), after);
                        if action == 0 {
                            bins.remove(first);
                        } else {
                            bins.remove_at(place);
                        }
                        tree.remove(&first);
                    }
                    None => {
                        bins.insert(entry);
                        tree.insert(entry);
                    }
                }
            }
            let middle = tree.iter().nth(tree.len() / 2).map_or(0, |entry| entry.size);
            prop_assert!(bins.from(middle).eq(tree.iter().copied().filter(|entry| entry.size >= middle)));
            prop_assert!(bins.iter().eq(tree));
        }

        #[test]
        fn bins_are_in_order(one in any::<u64>(), other in any::<u64>()) {
            prop_assert_eq!(bin_of(one.min(other)).cmp(&bin_of(one.max(other))).is_le(), true);
            prop_assert!(bin_of(one) < BINS);
        }
    }
}
