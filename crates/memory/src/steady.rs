//! What stays from iteration to iteration: what is live when one begins.

use whyoom_trace::Address;

use crate::{
    block::{ByAddress, LiveBlock},
    iterations::Iterations,
    live_copy::LiveCopy,
    totals::Totals,
};

/// What was live when the last iteration began.
#[derive(Debug, Default)]
pub(crate) struct Steady {
    totals: Totals,
    copy: LiveCopy,
    /// The boundary that was copied last: who found it, and how many that had found by then.
    copied: Option<(usize, u64)>,
}

impl Steady {
    /// Notes that a block came, changed or went.
    pub(crate) fn note(&mut self, address: Address, block: Option<LiveBlock>) {
        self.copy.note(address, block);
    }

    pub(crate) fn relabel(&mut self, address: Address, block: LiveBlock) {
        self.copy.relabel(address, block);
    }

    /// Takes the present where an iteration has just begun.
    pub(crate) fn look(
        &mut self,
        iterations: &Iterations,
        totals: Totals,
        live: &ByAddress<LiveBlock>,
    ) {
        let newest = iterations.newest();
        if newest.is_some() && newest != self.copied {
            (self.copied, self.totals) = (newest, totals);
            self.copy.update(live);
        }
    }

    /// The sums and blocks when the last iteration began; nothing where none did.
    pub(crate) fn state(&self) -> Option<(Totals, &ByAddress<LiveBlock>)> {
        self.copied.map(|_| (self.totals, self.copy.blocks()))
    }

    /// History starts now, with what is live; iterations are counted anew.
    pub(crate) fn restart(&mut self) {
        self.copied = None;
    }
}
