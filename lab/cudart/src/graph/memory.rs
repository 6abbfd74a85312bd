//! Memory of graphs.

use std::ffi::c_void;

use cudarc::driver::sys::CUdeviceptr;
use whyoom_lab_abi::{Out, exports};

use super::Handle;
use crate::{device, driver, error::Status};

exports! { Status;
    fn cudaGraphAddMemAllocNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, alloc: *mut c_void) {
        driver::initialized()?.cuGraphAddMemAllocNode(node.0, graph, nodes, count, alloc)
    }

    fn cudaGraphMemAllocNodeGetParams(node: Handle, alloc: Out<c_void>) {
        driver::initialized()?.cuGraphMemAllocNodeGetParams(node, alloc.0)
    }

    fn cudaGraphAddMemFreeNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, pointer: CUdeviceptr) {
        driver::initialized()?.cuGraphAddMemFreeNode(node.0, graph, nodes, count, pointer)
    }

    fn cudaGraphMemFreeNodeGetParams(node: Handle, pointer: Out<CUdeviceptr>) {
        driver::initialized()?.cuGraphMemFreeNodeGetParams(node, pointer.0)
    }

    fn cudaDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: *mut c_void) {
        let (driver, device) = device::at(device)?;
        driver.cuDeviceGetGraphMemAttribute(device, attribute, value)
    }

    fn cudaDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: *mut c_void) {
        let (driver, device) = device::at(device)?;
        driver.cuDeviceSetGraphMemAttribute(device, attribute, value)
    }

    fn cudaDeviceGraphMemTrim(device: i32) {
        let (driver, device) = device::at(device)?;
        driver.cuDeviceGraphMemTrim(device)
    }
}
