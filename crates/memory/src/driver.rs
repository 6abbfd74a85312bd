//! What was taken from the driver, by the interface that it came through.

use std::collections::BTreeMap;

use whyoom_trace::{Address, Bytes, MemoryKind};

use crate::block::ByAddress;

#[derive(Debug, Default)]
pub(crate) struct DriverMemory {
    live: ByAddress<(MemoryKind, Bytes)>,
    by_kind: BTreeMap<MemoryKind, Bytes>,
}

impl DriverMemory {
    pub(crate) fn alloc(&mut self, kind: MemoryKind, address: Address, size: Bytes) {
        self.free(address);
        self.live.insert(address, (kind, size));
        let sum = self.by_kind.entry(kind).or_default();
        *sum = sum.plus(size);
    }

    pub(crate) fn free(&mut self, address: Address) {
        if let Some((kind, size)) = self.live.remove(&address) {
            let sum = self.by_kind.entry(kind).or_default();
            *sum = sum.minus(size);
        }
    }

    pub(crate) fn by_kind(&self) -> &BTreeMap<MemoryKind, Bytes> {
        &self.by_kind
    }
}
