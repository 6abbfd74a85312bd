//! Access of one device to the memory of another.

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::sys::CUstream;
use whyoom_lab_abi::{Out, exports};

use crate::{context, device, error::Status};

exports! { Status;
    fn cudaDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        let (driver, device) = device::at(device)?;
        driver.cuDeviceCanAccessPeer(can.0, device, context::handle(driver, peer)?)
    }

    fn cudaDeviceGetP2PAttribute(value: Out<i32>, attribute: u32, from: i32, to: i32) {
        let (driver, from) = device::at(from)?;
        driver.cuDeviceGetP2PAttribute(value.0, attribute, from, context::handle(driver, to)?)
    }

    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        let current = context::current()?;
        current.cuCtxEnablePeerAccess(context::primary(&current, peer)?, flags)
    }

    fn cudaDeviceDisablePeerAccess(peer: i32) {
        let current = context::current()?;
        current.cuCtxDisablePeerAccess(context::primary(&current, peer)?)
    }

    fn cudaMemcpyPeer(to: CUdeviceptr, there: i32, from: CUdeviceptr, here: i32, size: usize) {
        let current = context::current()?;
        let there = context::primary(&current, there)?;
        current.cuMemcpyPeer(to, there, from, context::primary(&current, here)?, size)
    }

    fn cudaMemcpyPeerAsync(to: CUdeviceptr, there: i32, from: CUdeviceptr, here: i32, size: usize, stream: CUstream) {
        let current = context::current()?;
        let there = context::primary(&current, there)?;
        current.cuMemcpyPeerAsync(to, there, from, context::primary(&current, here)?, size, stream)
    }
}
