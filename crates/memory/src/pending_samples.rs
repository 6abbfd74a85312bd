//! Samples that wait for their incident: counters and holders come before the event that closes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whyoom_trace::{Bytes, Counter, PoolId};

use crate::{holder::Holder, pools::PoolFigures};

/// Holders beyond these tell nothing new.
const MAX_HOLDERS: usize = 4096;

/// What was read for one process since its last incident.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PendingSamples {
    pub(crate) counters: BTreeMap<Counter, Bytes>,
    pub(crate) pools: BTreeMap<PoolId, PoolFigures>,
    pub(crate) holders: Vec<Holder>,
}

impl PendingSamples {
    pub(crate) fn counter(&mut self, pool: PoolId, counter: Counter, bytes: Bytes) {
        let mut figures = self.pools.get(&pool).copied().unwrap_or_default();
        if figures.take(counter, bytes) {
            self.pools.insert(pool, figures);
        } else {
            self.counters.insert(counter, bytes);
        }
    }

    pub(crate) fn holder(&mut self, holder: Holder) {
        if self.holders.len() < MAX_HOLDERS {
            self.holders.push(holder);
        }
    }
}
