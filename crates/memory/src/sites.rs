//! How many allocations each call site made and ended.

use whyoom_trace::StackId;

/// What one call site did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

/// All call sites, by the id of their stack: ids are dense.
#[derive(Debug, Default)]
pub(crate) struct Sites(Vec<Site>);

impl Sites {
    pub(crate) fn made(&mut self, stack: StackId) {
        self.site(stack).made += 1;
    }

    pub(crate) fn ended(&mut self, stack: StackId) {
        self.site(stack).ended += 1;
    }

    fn site(&mut self, stack: StackId) -> &mut Site {
        let index = stack.0 as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, Site::default());
        }
        &mut self.0[index]
    }

    /// Those that made anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (StackId, Site)> {
        let sites = self.0.iter().enumerate().filter(|(_, site)| site.made > 0);
        sites.map(|(index, site)| (StackId(index as u32), *site))
    }
}
