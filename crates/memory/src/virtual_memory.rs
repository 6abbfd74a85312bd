//! Physical memory behind handles, and where it is mapped.
//!
//! A handle's memory goes back when it has been released and is mapped nowhere any longer, whichever
//! comes last: some programs release right after mapping, others after unmapping.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use whyoom_trace::{Address, Bytes, HandleId};

/// Device and host addresses of programs leave this bit clear, so that a handle can stand among them.
const HANDLE_BIT: u64 = 1 << 63;

/// The key of a handle's memory among addresses.
pub(crate) fn handle_key(handle: HandleId) -> Address {
    Address(handle.0 | HANDLE_BIT)
}

/// Physical memory behind handles, and where it is mapped.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct VirtualMemory {
    handles: HashMap<HandleId, Handle, RandomState>,
    mapped: BTreeMap<Address, (Bytes, HandleId)>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Handle {
    released: bool,
    mappings: u64,
    first_mapped: Option<Address>,
}

impl VirtualMemory {
    /// Physical memory was made.
    pub(crate) fn create(&mut self, handle: HandleId) {
        self.handles.insert(handle, Handle::default());
    }

    /// Whether a handle's memory is still there.
    pub(crate) fn knows(&self, handle: HandleId) -> bool {
        self.handles.contains_key(&handle)
    }

    /// Whether anything is mapped from that address on.
    pub(crate) fn is_mapped(&self, address: Address) -> bool {
        self.mapped.contains_key(&address)
    }

    /// Where memory was first mapped.
    pub(crate) fn address_of(&self, key: Address) -> Option<Address> {
        self.handles.get(&HandleId(key.0 & !HANDLE_BIT))?.first_mapped
    }

    /// A handle's memory was mapped.
    pub(crate) fn map(&mut self, address: Address, size: Bytes, handle: HandleId) {
        if let Some(state) = self.handles.get_mut(&handle) {
            state.mappings += 1;
            state.first_mapped.get_or_insert(address);
            self.mapped.insert(address, (size, handle));
        }
    }

    /// Releases a handle; it comes back if its memory is gone with it.
    pub(crate) fn release(&mut self, handle: HandleId) -> Option<HandleId> {
        self.handles.get_mut(&handle)?.released = true;
        self.gone(handle)
    }

    /// Unmaps a range; the handles whose memory is gone with it come back.
    pub(crate) fn unmap(&mut self, address: Address, size: Bytes) -> Vec<HandleId> {
        let range = address..address.offset(size);
        let starts: Vec<Address> = match range.is_empty() {
            true => Vec::new(),
            false => self.mapped.range(range).map(|(&start, _)| start).collect(),
        };
        let unmapped = starts.into_iter().filter_map(|start| self.mapped.remove(&start));
        let handles: Vec<HandleId> = unmapped.map(|(_, handle)| handle).collect();
        handles.into_iter().filter_map(|handle| self.unmapped(handle)).collect()
    }

    fn unmapped(&mut self, handle: HandleId) -> Option<HandleId> {
        let state = self.handles.get_mut(&handle)?;
        state.mappings = state.mappings.saturating_sub(1);
        self.gone(handle)
    }

    fn gone(&mut self, handle: HandleId) -> Option<HandleId> {
        let state = self.handles.get(&handle)?;
        if !state.released || state.mappings > 0 {
            return None;
        }
        self.handles.remove(&handle);
        Some(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_with_the_last_of_handle_and_mappings() {
        let (one, two) = (HandleId(1), HandleId(2));
        let mut memory = VirtualMemory::default();
        memory.create(one);
        memory.create(two);
        memory.map(Address(100), Bytes(10), one);
        memory.map(Address(110), Bytes(10), two);
        assert_eq!(memory.release(one), None, "it is still mapped");
        assert_eq!(memory.unmap(Address(100), Bytes(20)), [one], "two has not been released");
        assert_eq!(memory.release(two), Some(two));
        assert!(!memory.knows(one) && !memory.knows(two));
    }

    #[test]
    fn an_empty_or_unknown_range_unmaps_nothing() {
        let mut memory = VirtualMemory::default();
        assert!(memory.unmap(Address(u64::MAX), Bytes(5)).is_empty());
        assert!(memory.unmap(Address(5), Bytes(0)).is_empty());
        assert_eq!(memory.release(HandleId(9)), None);
    }
}
