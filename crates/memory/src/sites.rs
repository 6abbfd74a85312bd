//! How many allocations each call site made and ended.

use serde::{Deserialize, Serialize};
use whyoom_trace::StackId;

use crate::by_stack::ByStack;

/// What one call site did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Allocations that it made.
    pub made: u64,
    /// Of these, the ones that ended.
    pub ended: u64,
}

impl Site {
    /// What it made and nobody gave back.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.made.saturating_sub(self.ended)
    }
}

/// All call sites, by their stack.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sites(ByStack<Site>);

impl Sites {
    pub(crate) fn made(&mut self, stack: StackId) {
        self.0.get_mut(stack).made += 1;
    }

    pub(crate) fn ended(&mut self, stack: StackId) {
        self.0.get_mut(stack).ended += 1;
    }

    /// Those that made anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (StackId, Site)> {
        self.0.iter().filter(|(_, site)| site.made > 0)
    }
}
