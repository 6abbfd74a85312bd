//! The values that a parameter may take.

/// Values in order, the smallest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range(Values);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Values {
    /// From the first to the last, in steps: too many to be written down.
    Steps { first: u64, step: u64, count: u64 },
    /// These; at least one.
    Listed(Vec<u64>),
}

impl Range {
    /// The values from `first` to at most `last`; nothing where there is none or no step.
    #[must_use]
    pub fn new(first: u64, last: u64, step: u64) -> Option<Self> {
        let span = last.checked_sub(first)?;
        Some(Self(Values::Steps { first, step, count: span.checked_div(step)?.checked_add(1)? }))
    }

    /// These values, in whatever order; nothing where there is none.
    #[must_use]
    pub fn listed(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        values.dedup();
        (!values.is_empty()).then_some(Self(Values::Listed(values)))
    }

    /// How many values there are; at least one.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.0 {
            Values::Steps { count, .. } => *count,
            Values::Listed(values) => values.len() as u64,
        }
    }

    /// The value at a place, counted from 0; the last one for all places behind it.
    #[must_use]
    pub fn value(&self, place: u64) -> u64 {
        let place = place.min(self.count() - 1);
        match &self.0 {
            Values::Steps { first, step, .. } => first + place * step,
            Values::Listed(values) => values[place as usize],
        }
    }

    /// The value that follows.
    #[must_use]
    pub fn after(&self, value: u64) -> Option<u64> {
        match &self.0 {
            Values::Steps { step, .. } => {
                let next = value.checked_add(*step)?;
                (next <= self.value(u64::MAX)).then_some(next)
            }
            Values::Listed(values) => values.iter().copied().find(|next| *next > value),
        }
    }

    /// At most so many of the values, for a table: those that were listed; else the last one and its halves, as people
    /// choose lengths and sizes; where there are few halves in the range, values at even distances.
    #[must_use]
    pub fn chosen(&self, most: u64) -> Vec<u64> {
        if matches!(self.0, Values::Listed(_)) || self.count() <= most {
            return (0..self.count()).map(|place| self.value(place)).collect();
        }
        let (first, last) = (self.value(0), self.value(u64::MAX));
        let halves = std::iter::successors(Some(last), |value| Some(value / 2));
        let mut halves: Vec<u64> = halves.take_while(|value| *value > first).collect();
        halves.truncate(most.saturating_sub(1).max(1) as usize);
        halves.push(first);
        let few = (halves.len() as u64) < most.div_ceil(2);
        let evenly = || {
            let gaps = u128::from(most.saturating_sub(1).max(1));
            let place = |index| u128::from(index) * u128::from(self.count() - 1) / gaps;
            (0..most).map(|index| self.value(place(index) as u64)).collect()
        };
        let mut chosen: Vec<u64> = if few { evenly() } else { halves };
        chosen.iter_mut().for_each(|value| *value = self.up_to(*value));
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    /// The largest value up to this one, which is not below the first.
    fn up_to(&self, value: u64) -> u64 {
        match &self.0 {
            Values::Steps { first, step, .. } => value - (value - first) % step,
            Values::Listed(_) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_chosen_as_people_would() {
        let chosen = |first, last, step| Range::new(first, last, step).map(|one| one.chosen(8));
        assert_eq!(chosen(512, 8192, 1), Some(vec![512, 1024, 2048, 4096, 8192]));
        assert_eq!(chosen(512, 4096, 512).map(|all| all.len()), Some(8));
        assert_eq!(chosen(1, 4096, 1), Some(vec![1, 64, 128, 256, 512, 1024, 2048, 4096]));
        assert_eq!(
            chosen(1000, 1700, 1),
            Some(vec![1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700])
        );
        // 4999 is not in the range, 4905 is.
        assert_eq!(chosen(105, 9999, 100).map(|all| all[all.len() - 2]), Some(4905));
        assert_eq!(chosen(0, u64::MAX - 1, 1).map(|all| all.len()), Some(8));
        assert_eq!(chosen(0, u64::MAX, 1), None);
    }

    #[test]
    fn a_list_is_taken_as_it_is() {
        let list = Range::listed(vec![2048, 512, 512, 1024]).expect("values");
        assert_eq!(list.chosen(2), [512, 1024, 2048]);
        assert_eq!((list.value(1), list.value(9)), (1024, 2048));
        assert_eq!((list.after(512), list.after(2048)), (Some(1024), None));
        assert!(Range::listed(Vec::new()).is_none());
    }
}
