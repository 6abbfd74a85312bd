//! What was live at one earlier moment, in one pass and in memory that follows the live set.
//!
//! A copy of the live set is brought up to date at every such moment. Between two of them only a journal of changes
//! is kept; one that outgrows the copy is dropped, and the next moment copies the live set whole. Either way each event
//! pays for a bounded amount of work.

use serde::{Deserialize, Serialize};
use whyoom_trace::Address;

use crate::block::{ByAddress, LiveBlock};

/// Moments come after a few events or after many; a journal of this length is always kept.
const JOURNAL_AT_LEAST: usize = 1024;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LiveCopy {
    live: ByAddress<LiveBlock>,
    journal: Vec<(Address, Option<LiveBlock>)>,
    journal_dropped: bool,
}

impl LiveCopy {
    /// The blocks that were live then.
    pub(crate) fn blocks(&self) -> &ByAddress<LiveBlock> {
        &self.live
    }

    /// Notes that a block came, changed or went.
    #[inline]
    pub(crate) fn note(&mut self, address: Address, block: Option<LiveBlock>) {
        if self.journal_dropped {
            return;
        }
        self.journal.push((address, block));
        if self.journal.len() > JOURNAL_AT_LEAST + 2 * self.live.len() {
            self.journal = Vec::new();
            self.journal_dropped = true;
        }
    }

    /// A block that is live now turned out to be something else; if it was live then, it was that then, too, and what
    /// it was taken for comes back.
    pub(crate) fn relabel(&mut self, address: Address, block: LiveBlock) -> Option<LiveBlock> {
        let then = self.live.get_mut(&address).filter(|then| then.born == block.born);
        let before = then.map(|then| {
            let before = *then;
            *then = LiveBlock { pending: before.pending, ..block };
            before
        });
        self.note(address, Some(block));
        before
    }

    /// Takes the present.
    pub(crate) fn update(&mut self, live: &ByAddress<LiveBlock>) {
        if std::mem::take(&mut self.journal_dropped) {
            self.live.clone_from(live);
            return;
        }
        for (address, block) in self.journal.drain(..) {
            match block {
                Some(block) => self.live.insert(address, block),
                None => self.live.remove(&address),
            };
        }
    }
}
