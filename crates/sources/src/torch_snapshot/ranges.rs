//! A set of addresses: the mapped parts of expandable segments.

use std::collections::BTreeMap;

use whyoom_trace::Address;

/// Disjoint ranges, each start with its end.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<Address, Address>);

impl Ranges {
    pub(super) fn add(&mut self, start: Address, end: Address) {
        self.remove(start, end);
        if start < end {
            self.0.insert(start, end);
        }
    }

    pub(super) fn remove(&mut self, start: Address, end: Address) {
        if start >= end {
            return;
        }
        if let Some((&before, &before_end)) = self.0.range(..start).next_back()
            && before_end > start
        {
            self.0.insert(before, start);
            if before_end > end {
                self.0.insert(end, before_end);
                return;
            }
        }
        while let Some((&inner, &inner_end)) = self.0.range(start..end).next() {
            self.0.remove(&inner);
            if inner_end > end {
                self.0.insert(end, inner_end);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Address, Address)> {
        self.0.iter().map(|(&start, &end)| (start, end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_bitmap(steps in prop::collection::vec((any::<bool>(), 0u64..64, 0u64..64), 0..40)) {
            let mut ranges = Ranges::default();
            let mut bitmap = [false; 64];
            for (add, a, b) in steps {
                let (start, end) = (a.min(b), a.max(b));
                if add {
                    ranges.add(Address(start), Address(end));
                } else {
                    ranges.remove(Address(start), Address(end));
                }
                bitmap[start as usize..end as usize].fill(add);
            }
            let mut covered = [false; 64];
            for (start, end) in ranges.iter() {
                for bit in &mut covered[start.0 as usize..end.0 as usize] {
                    prop_assert!(!*bit, "ranges overlap");
                    *bit = true;
                }
            }
            prop_assert_eq!(covered, bitmap);
        }
    }
}
