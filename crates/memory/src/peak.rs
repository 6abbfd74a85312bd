//! Who was live at the peak, in one pass and in memory that follows the live set.

use serde::{Deserialize, Serialize};
use whyoom_trace::{Address, Bytes, Time};

use crate::{
    block::{ByAddress, LiveBlock},
    live_copy::LiveCopy,
    totals::Totals,
};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Peak {
    pub(crate) totals: Totals,
    pub(crate) time: Time,
    copy: LiveCopy,
}

impl Peak {
    /// The blocks that were live at the peak.
    pub(crate) fn blocks(&self) -> &ByAddress<LiveBlock> {
        self.copy.blocks()
    }

    /// Notes that a block came, changed or went.
    #[inline]
    pub(crate) fn note(&mut self, address: Address, block: Option<LiveBlock>) {
        self.copy.note(address, block);
    }

    /// A block that is live now turned out to be something else; if it was live at the peak, it was that then, too.
    pub(crate) fn relabel(&mut self, address: Address, block: LiveBlock) {
        if let Some(then) = self.copy.relabel(address, block) {
            self.totals.requested =
                self.totals.requested.minus(then.requested).plus(block.requested);
        }
    }

    /// Takes the present as the new peak if it is one, and says whether it is.
    pub(crate) fn rise(&mut self, totals: Totals, time: Time, live: &ByAddress<LiveBlock>) -> bool {
        if totals.allocated <= self.totals.allocated && self.totals.allocated > Bytes::ZERO {
            return false;
        }
        (self.totals, self.time) = (totals, time);
        self.copy.update(live);
        true
    }

    /// Forgets the peak: history starts now.
    pub(crate) fn restart(&mut self) {
        self.totals = Totals::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use whyoom_trace::{ContextId, PoolId, StackId, StreamId};

    use super::*;
    use crate::{category::Category, interface::Interface};

    fn block(size: u64) -> LiveBlock {
        LiveBlock {
            size: Bytes(size),
            requested: Bytes(size),
            stream: StreamId(0),
            born: 0,
            time: Time(0),
            stack: StackId(0),
            label: StackId(0),
            pool: PoolId(0),
            context: ContextId(0),
            category: Category::Unattributed,
            by_phase: false,
            interface: Interface::Allocator,
            pending: false,
        }
    }

    proptest! {
        #[test]
        fn it_keeps_the_live_set_of_the_highest_moment(
            steps in prop::collection::vec((0u64..40, 1u64..1000), 1..4000),
        ) {
            let mut live = ByAddress::default();
            let mut peak = Peak::default();
            let mut expected = (0, ByAddress::default());
            for (address, size) in steps {
                let address = Address(address);
                let change = live.remove(&address).is_none().then(|| block(size));
                if let Some(block) = change {
                    live.insert(address, block);
                }
                peak.note(address, change);
                let allocated: u64 = live.values().map(|block: &LiveBlock| block.size.0).sum();
                let totals = Totals { allocated: Bytes(allocated), ..Totals::default() };
                peak.rise(totals, Time(0), &live);
                if allocated > expected.0 {
                    expected = (allocated, live.clone());
                }
            }
            prop_assert_eq!(peak.totals.allocated, Bytes(expected.0));
            prop_assert_eq!(peak.blocks(), &expected.1);
        }
    }
}
