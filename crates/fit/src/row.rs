//! A row of a search over several parameters.

use crate::samples::Samples;

/// The values of the other parameters, and what was run with them.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) at: Vec<u64>,
    pub(crate) samples: Samples,
}

impl Row {
    pub(crate) fn new(at: Vec<u64>) -> Self {
        Self { at, samples: Samples::default() }
    }

    /// Whether another row differs in no parameter but this.
    pub(crate) fn differs_only_in(&self, parameter: usize, other: &Self) -> bool {
        let same = |index: usize| (self.at[index] == other.at[index]) == (index != parameter);
        (0..self.at.len()).all(same)
    }
}
