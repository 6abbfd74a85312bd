//! Kernel nodes: the runtime names kernels by their host stubs.

use std::ffi::c_void;

use cudarc::{
    driver::sys::{CUDA_KERNEL_NODE_PARAMS_v2, CUfunction},
    runtime::sys::dim3,
};
use whyoom_lab_abi::{Out, exports};

use super::{Before, Handle, given};
use crate::{
    context::{self, Current},
    error::{Failure, Status},
    function, registry,
};

/// `cudaKernelNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Kernel {
    pub function: *const c_void,
    pub grid: dim3,
    pub block: dim3,
    pub shared: u32,
    pub arguments: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

impl Kernel {
    /// The same for the driver.
    pub fn for_driver(&self, current: &Current) -> Result<CUDA_KERNEL_NODE_PARAMS_v2, Failure> {
        Ok(CUDA_KERNEL_NODE_PARAMS_v2 {
            func: function::resolved(current, self.function)?,
            gridDimX: self.grid.x,
            gridDimY: self.grid.y,
            gridDimZ: self.grid.z,
            blockDimX: self.block.x,
            blockDimY: self.block.y,
            blockDimZ: self.block.z,
            sharedMemBytes: self.shared,
            kernelParams: self.arguments,
            extra: self.extra,
            kern: std::ptr::null_mut(),
            ctx: current.context,
        })
    }

    /// What the driver has, in the runtime's words.
    pub fn of(kernel: &CUDA_KERNEL_NODE_PARAMS_v2) -> Self {
        Self {
            function: stub_of(kernel.func),
            grid: dim3 { x: kernel.gridDimX, y: kernel.gridDimY, z: kernel.gridDimZ },
            block: dim3 { x: kernel.blockDimX, y: kernel.blockDimY, z: kernel.blockDimZ },
            shared: kernel.sharedMemBytes,
            arguments: kernel.kernelParams,
            extra: kernel.extra,
        }
    }
}

/// The stub of a function; the function itself where the program registered none for it.
fn stub_of(function: CUfunction) -> *const c_void {
    registry::stub_of(function).unwrap_or(function.cast_const().cast())
}

exports! { Status;
    fn cudaGraphAddKernelNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, kernel: *const Kernel) {
        let current = context::current()?;
        let kernel = given(kernel)?.for_driver(&current)?;
        let Before { nodes, count } = Before { nodes, count };
        current.cuGraphAddKernelNode(node.0, graph, nodes, count, &kernel)
    }

    fn cudaGraphKernelNodeGetParams(node: Handle, kernel: Out<Kernel>) {
        let current = context::current()?;
        let mut found = std::mem::MaybeUninit::<CUDA_KERNEL_NODE_PARAMS_v2>::zeroed();
        current.cuGraphKernelNodeGetParams(node, found.as_mut_ptr())?;
        // SAFETY: numbers and pointers, for which zero is a value too.
        Ok(kernel.put(Kernel::of(unsafe { found.assume_init_ref() }))?)
    }

    fn cudaGraphKernelNodeSetParams(node: Handle, kernel: *const Kernel) {
        let current = context::current()?;
        current.cuGraphKernelNodeSetParams(node, &given(kernel)?.for_driver(&current)?)
    }

    fn cudaGraphExecKernelNodeSetParams(exec: Handle, node: Handle, kernel: *const Kernel) {
        let current = context::current()?;
        let kernel = given(kernel)?.for_driver(&current)?;
        current.cuGraphExecKernelNodeSetParams(exec, node, &kernel)
    }
}
