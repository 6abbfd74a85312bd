//! Page-locked host memory.

use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::{Error, driver::AllocationKind};

use crate::{
    process::{unseen_by_captures, with},
    status::{Result, Status},
};

/// Flags that are documented for allocating and for registering.
const ALLOC_FLAGS: u32 = 0b111;
const REGISTER_FLAGS: u32 = 0b1111;

fn alloc(address: Out<u64>, bytes: usize, flags: u32) -> Result<()> {
    if address.is_null() || flags & !ALLOC_FLAGS != 0 {
        return Err(Error::InvalidValue.into());
    }
    unseen_by_captures(|driver, context| {
        Ok(address.put(driver.alloc_pinned(context, bytes as u64, flags)?)?)
    })
}

exports! { Status;
    fn cuMemHostAlloc(address: Out<u64>, bytes: usize, flags: u32) { alloc(address, bytes, flags) }

    fn cuMemAllocHost_v2(address: Out<u64>, bytes: usize) { alloc(address, bytes, 0) }

    fn cuMemFreeHost(address: u64) {
        unseen_by_captures(|driver, context| Ok(driver.free_pinned(context, address)?))
    }

    fn cuMemHostRegister_v2(address: u64, bytes: usize, flags: u32) {
        if flags & !REGISTER_FLAGS != 0 {
            return Err(Error::InvalidValue.into());
        }
        unseen_by_captures(|driver, context| Ok(driver.register(context, address, bytes as u64, flags)?))
    }

    fn cuMemHostUnregister(address: u64) {
        unseen_by_captures(|driver, context| Ok(driver.unregister(context, address)?))
    }

    // Host and device see page-locked memory at one address.
    fn cuMemHostGetDevicePointer_v2(address: Out<u64>, host: u64, flags: u32) {
        if flags != 0 {
            return Err(Error::InvalidValue.into());
        }
        with(|driver| match driver.find(host) {
            Some(held) if !held.is_on_device() => Ok(address.put(host)?),
            _ => Err(Error::InvalidValue.into()),
        })
    }

    fn cuMemHostGetFlags(flags: Out<u32>, host: u64) {
        with(|driver| match driver.find(host) {
            Some(held) if held.kind == AllocationKind::Pinned => Ok(flags.put(held.host_flags())?),
            _ => Err(Error::InvalidValue.into()),
        })
    }
}
