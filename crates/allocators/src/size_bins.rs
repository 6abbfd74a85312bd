//! An ordered set of free blocks that finds the smallest block that fits in a few steps.
//!
//! Sizes fall into bins whose bounds are spaced like floating-point numbers: eight to each power of
//! two. A bitmap tells which bins have blocks. Within a bin, entries are kept in order, so that the
//! whole set is in order and the answer is the very same that a tree would give.

/// A free block: what it is ordered by, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) size: u64,
    /// Orders blocks of one size.
    pub(crate) tie: u64,
    pub(crate) address: u64,
    pub(crate) block: u32,
}

/// Eight bins to each power of two.
const MANTISSA_BITS: u32 = 3;
const BINS: usize = 64 << MANTISSA_BITS;
const WORDS: usize = BINS / 64;

/// Free blocks in order of size, tie and address.
#[derive(Clone, Debug)]
pub(crate) struct SizeBins {
    occupied: [u64; WORDS],
    bins: Vec<Vec<Entry>>,
}

impl Default for SizeBins {
    fn default() -> Self {
        Self { occupied: [0; WORDS], bins: vec![Vec::new(); BINS] }
    }
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
        let bin = &mut self.bins[index];
        let place = bin.partition_point(|held| *held < entry);
        bin.insert(place, entry);
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    pub(crate) fn remove(&mut self, entry: Entry) {
        let index = bin_of(entry.size);
        let bin = &mut self.bins[index];
        let place = bin.partition_point(|held| *held < entry);
        if bin.get(place) == Some(&entry) {
            bin.remove(place);
        }
        if bin.is_empty() {
            self.occupied[index / 64] &= !(1 << (index % 64));
        }
    }

    /// The first entry that is at least so large.
    pub(crate) fn at_least(&self, size: u64) -> Option<Entry> {
        let index = bin_of(size);
        let bin = &self.bins[index];
        let place = bin.partition_point(|held| held.size < size);
        bin.get(place).copied().or_else(|| self.first_beyond(index))
    }

    /// The entry behind another in the order.
    pub(crate) fn after(&self, entry: Entry) -> Option<Entry> {
        let index = bin_of(entry.size);
        let bin = &self.bins[index];
        let place = bin.partition_point(|held| *held <= entry);
        bin.get(place).copied().or_else(|| self.first_beyond(index))
    }

    /// All entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.bins.iter().flatten().copied()
    }

    fn first_beyond(&self, index: usize) -> Option<Entry> {
        let next = index + 1;
        if next >= BINS {
            return None;
        }
        let first_word = self.occupied[next / 64] & (u64::MAX << (next % 64));
        let words = self.occupied.iter().enumerate().skip(next / 64 + 1);
        let mut words =
            [(next / 64, first_word)].into_iter().chain(words.map(|(at, word)| (at, *word)));
        let (at, word) = words.find(|(_, word)| *word != 0)?;
        self.bins[at * 64 + word.trailing_zeros() as usize].first().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_answers_as_a_tree_does(steps in prop::collection::vec((0..5_u8, 0..1_u64 << 34, 0..3_u64), 1..200)) {
            let (mut bins, mut tree) = (SizeBins::default(), BTreeSet::new());
            for (number, (action, size, tie)) in steps.into_iter().enumerate() {
                let size = size >> (number % 30);
                let entry = Entry { size, tie, address: number as u64, block: number as u32 };
                let first = tree.range(Entry { size, tie: 0, address: 0, block: 0 }..).next().copied();
                prop_assert_eq!(bins.at_least(size), first);
                match first.filter(|_| action < 2) {
                    Some(first) => {
                        let after = tree.range(first..).nth(1).copied();
                        prop_assert_eq!(bins.after(first), after);
                        bins.remove(first);
                        tree.remove(&first);
                    }
                    None => {
                        bins.insert(entry);
                        tree.insert(entry);
                    }
                }
            }
            prop_assert!(bins.iter().eq(tree));
        }

        #[test]
        fn bins_are_in_order(one in any::<u64>(), other in any::<u64>()) {
            prop_assert_eq!(bin_of(one.min(other)).cmp(&bin_of(one.max(other))).is_le(), true);
            prop_assert!(bin_of(one) < BINS);
        }
    }
}
