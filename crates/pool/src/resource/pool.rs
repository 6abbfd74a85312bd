//! The pool of a device as a resource: what adaptors stand on.

use whyoom_trace::Address;

use super::{Resource, ResourceError};
use crate::{device::DevicePool, driver::Stream, error::PoolError};

/// No bytes have no address, as in C.
const NOWHERE: Address = Address(0);

impl Resource for DevicePool {
    fn allocate(&self, bytes: u64, stream: Stream) -> Result<Address, ResourceError> {
        if bytes == 0 {
            return Ok(NOWHERE);
        }
        Ok(Address(self.alloc(bytes, stream.told_apart()?)?))
    }

    fn deallocate(&self, address: Address, _: u64, stream: Stream) -> Result<(), ResourceError> {
        if address == NOWHERE {
            return Ok(());
        }
        Ok(self.free(address.0, Some(stream.told_apart()?))?)
    }
}

impl From<PoolError> for ResourceError {
    fn from(error: PoolError) -> Self {
        Self::Refused { code: error.code(), message: error.to_string() }
    }
}
