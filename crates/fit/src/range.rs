//! The values that a parameter may take.

/// From the first to the last, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: u64,
    step: u64,
    count: u64,
}

impl Range {
    /// The values from `first` to at most `last`; nothing where there is none or no step.
    #[must_use]
    pub fn new(first: u64, last: u64, step: u64) -> Option<Self> {
        let span = last.checked_sub(first)?;
        Some(Self { first, step, count: span.checked_div(step)? + 1 })
    }

    /// How many values there are; at least one.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value at a place, counted from 0; the last one for all places behind it.
    #[must_use]
    pub fn value(&self, place: u64) -> u64 {
        self.first + place.min(self.count - 1) * self.step
    }

    /// The value that follows.
    #[must_use]
    pub fn after(&self, value: u64) -> Option<u64> {
        let next = value.checked_add(self.step)?;
        (next <= self.value(u64::MAX)).then_some(next)
    }
}
