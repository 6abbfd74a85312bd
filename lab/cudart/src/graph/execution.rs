//! Executable graphs.

use std::ffi::c_void;

use cudarc::driver::sys::CUstream;
use whyoom_lab_abi::{Out, exports};

use super::Handle;
use crate::{context, driver, error::Status};

exports! { Status;
    fn cudaGraphInstantiate(exec: Out<Handle>, graph: Handle, flags: u64) {
        context::current()?.cuGraphInstantiate(exec.0, graph, flags)
    }

    fn cudaGraphInstantiateWithFlags(exec: Out<Handle>, graph: Handle, flags: u64) {
        context::current()?.cuGraphInstantiate(exec.0, graph, flags)
    }

    fn cudaGraphInstantiateWithParams(exec: Out<Handle>, graph: Handle, parameters: *mut c_void) {
        context::current()?.cuGraphInstantiateWithParams(exec.0, graph, parameters)
    }

    fn cudaGraphExecGetFlags(exec: Handle, flags: Out<u64>) {
        driver::initialized()?.cuGraphExecGetFlags(exec, flags.0)
    }

    fn cudaGraphExecDestroy(exec: Handle) { driver::initialized()?.cuGraphExecDestroy(exec) }

    fn cudaGraphExecUpdate(exec: Handle, graph: Handle, result: Out<c_void>) {
        context::current()?.cuGraphExecUpdate(exec, graph, result.0)
    }

    fn cudaGraphUpload(exec: Handle, stream: CUstream) {
        context::current()?.cuGraphUpload(exec, stream)
    }

    fn cudaGraphLaunch(exec: Handle, stream: CUstream) {
        context::current()?.cuGraphLaunch(exec, stream)
    }

    fn cudaGraphNodeSetEnabled(exec: Handle, node: Handle, enabled: u32) {
        driver::initialized()?.cuGraphNodeSetEnabled(exec, node, enabled)
    }

    fn cudaGraphNodeGetEnabled(exec: Handle, node: Handle, enabled: Out<u32>) {
        driver::initialized()?.cuGraphNodeGetEnabled(exec, node, enabled.0)
    }
}
