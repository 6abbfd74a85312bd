//! Ranges of numbers, given out and taken back: addresses, offsets, places in a slab. Pure.

use std::collections::BTreeMap;

/// Free ranges by their start. Neighbours are always one range.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeRanges {
    by_start: BTreeMap<u64, u64>,
}

impl FreeRanges {
    /// All of `start..start + length` is free.
    pub(crate) fn new(start: u64, length: u64) -> Self {
        Self { by_start: BTreeMap::from([(start, length)]) }
    }

    /// The lowest free range of that length; starts are multiples of `length`'s unit throughout, so
    /// alignment holds as long as all lengths are multiples of one unit.
    pub(crate) fn take(&mut self, length: u64) -> Option<u64> {
        let (&start, &free) = self.by_start.iter().find(|(_, free)| **free >= length)?;
        self.by_start.remove(&start);
        if free > length {
            self.by_start.insert(start + length, free - length);
        }
        Some(start)
    }

    /// Takes the highest range of that length. New segments of a Linux driver lie ever lower, as
    /// recordings show, and PyTorch before 2.15 chooses among equal free blocks by address.
    pub(crate) fn take_highest(&mut self, length: u64) -> Option<u64> {
        let (&start, &free) = self.by_start.iter().rev().find(|(_, free)| **free >= length)?;
        self.by_start.remove(&start);
        if free > length {
            self.by_start.insert(start, free - length);
        }
        Some(start + free - length)
    }

    /// Takes a range back and joins it with its neighbours.
    pub(crate) fn give_back(&mut self, start: u64, length: u64) {
        let (mut start, mut length) = (start, length);
        if let Some((&before, &before_length)) = self.by_start.range(..start).next_back()
            && before + before_length == start
        {
            self.by_start.remove(&before);
            start = before;
            length += before_length;
        }
        if let Some(after_length) = self.by_start.remove(&(start + length)) {
            length += after_length;
        }
        self.by_start.insert(start, length);
    }

    /// Whether `start..start + length` is one free range.
    pub(crate) fn is_all_free(&self, start: u64, length: u64) -> bool {
        self.by_start.get(&start) == Some(&length)
    }
}

/// The next multiple of a unit.
pub(crate) fn round_up(bytes: u64, unit: u64) -> u64 {
    bytes.div_ceil(unit).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_joins_its_neighbours() {
        let mut ranges = FreeRanges::new(0, 100);
        let starts: Vec<_> = (0..10).filter_map(|_| ranges.take(10)).collect();
        assert_eq!(ranges.take(1), None);
        for start in starts.iter().step_by(2).chain(starts.iter().skip(1).step_by(2)) {
            ranges.give_back(*start, 10);
        }
        assert!(ranges.is_all_free(0, 100));
    }
}
