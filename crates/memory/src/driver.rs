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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_follow_what_is_held() {
        let mut memory = DriverMemory::default();
        memory.alloc(MemoryKind::Device, Address(1), Bytes(100));
        memory.alloc(MemoryKind::Pinned, Address(2), Bytes(30));
        memory.free(Address(1));
        memory.free(Address(99));
        let held: Vec<_> = memory.by_kind().iter().map(|(kind, bytes)| (*kind, bytes.0)).collect();
        assert_eq!(held, [(MemoryKind::Device, 0), (MemoryKind::Pinned, 30)]);
    }
}
