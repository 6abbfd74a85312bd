//! A resource without a device, for the adaptors' tests.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use crate::driver::Stream;
use whyoom_trace::Address;

use super::{Resource, ResourceError};

/// Gives out so many bytes in all and no more, each block at an address of its own.
pub(super) struct Fake {
    capacity: u64,
    blocks: Mutex<HashMap<Address, u64>>,
}

impl Fake {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, blocks: Mutex::default() }
    }

    pub(super) fn live(&self) -> u64 {
        self.blocks().values().sum()
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<Address, u64>> {
        self.blocks.lock().unwrap()
    }
}

impl Resource for Fake {
    fn allocate(&self, bytes: u64, _: Stream) -> Result<Address, ResourceError> {
        let mut blocks = self.blocks();
        if blocks.values().sum::<u64>() + bytes > self.capacity {
            return Err(ResourceError::Refused { code: 2, message: "the device is full".into() });
        }
        let address = (1..).map(|page| Address(page << 9)).find(|a| !blocks.contains_key(a));
        let address = address.unwrap();
        blocks.insert(address, bytes);
        Ok(address)
    }

    fn deallocate(&self, address: Address, bytes: u64, _: Stream) -> Result<(), ResourceError> {
        let mut blocks = self.blocks();
        if blocks.get(&address) != Some(&bytes) {
            return Err(ResourceError::Refused { code: 1, message: "not a block of this".into() });
        }
        blocks.remove(&address);
        Ok(())
    }
}
