//! Buffers that callers register or let NCCL allocate, and what a communicator says of itself.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use cudarc::driver::sys::CUdeviceptr;
use whyoom_lab_abi::{Out, exports};

use crate::{
    communicator::CommunicatorPointer,
    driver::Driver,
    memory::Block,
    status::{Failure, Status},
};

/// What `ncclMemAlloc` gave out, by address.
static GIVEN: Mutex<BTreeMap<CUdeviceptr, Block>> = Mutex::new(BTreeMap::new());

exports! { Status;
    // Always mapped, so that other processes could be given it.
    fn ncclMemAlloc(address: Out<CUdeviceptr>, bytes: usize) {
        if address.is_null() || bytes == 0 {
            return Err(Failure::InvalidArgument);
        }
        let driver = Driver::get()?;
        driver.context()?;
        let block = Block::mapped(driver, bytes)?;
        address.put(block.address())?;
        GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(block.address(), block);
        Ok(())
    }
    fn ncclMemFree(address: CUdeviceptr) {
        if address == 0 {
            return Ok(());
        }
        let block = GIVEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
        block.ok_or(Failure::InvalidArgument)?.free(Driver::get()?);
        Ok(())
    }
    // Registered memory needs nothing here: the buffer stands for its own handle.
    fn ncclCommRegister(
        communicator: CommunicatorPointer, buffer: CUdeviceptr, _bytes: usize,
        handle: Out<CUdeviceptr>,
    ) {
        communicator.get()?;
        Ok(handle.put(buffer)?)
    }
    fn ncclCommDeregister(communicator: CommunicatorPointer, _handle: CUdeviceptr) {
        communicator.get().map(drop)
    }
    fn ncclCommCount(communicator: CommunicatorPointer, ranks: Out<i32>) {
        Ok(ranks.put(communicator.get()?.ranks as i32)?)
    }
    fn ncclCommUserRank(communicator: CommunicatorPointer, rank: Out<i32>) {
        Ok(rank.put(communicator.get()?.rank as i32)?)
    }
    fn ncclCommCuDevice(communicator: CommunicatorPointer, device: Out<i32>) {
        Ok(device.put(communicator.get()?.device)?)
    }
    fn ncclCommGetAsyncError(communicator: CommunicatorPointer, error: Out<u32>) {
        communicator.get()?;
        Ok(error.put(0)?)
    }
    fn ncclCommSuspend(communicator: CommunicatorPointer, _flags: i32) {
        communicator.get()?.each_holding(|holdings| {
            holdings.suspend();
            Ok(())
        })
    }
    fn ncclCommResume(communicator: CommunicatorPointer) {
        communicator.get()?.each_holding(|holdings| holdings.resume())
    }
    // That all of NCCL's memory can be suspended is assumed.
    fn ncclCommMemStats(communicator: CommunicatorPointer, which: u32, value: Out<u64>) {
        let (mut bytes, mut suspended) = (0, false);
        communicator.get()?.each_holding(|holdings| {
            bytes += holdings.bytes() as u64;
            suspended |= holdings.is_suspended();
            Ok::<_, Failure>(())
        })?;
        Ok(value.put(match which {
            0 | 3 => bytes,
            1 => u64::from(suspended),
            2 => 0,
            _ => return Err(Failure::InvalidArgument),
        })?)
    }
}
