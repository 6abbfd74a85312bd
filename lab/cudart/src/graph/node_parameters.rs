//! Nodes of any kind by one structure. Kernels and copies are described otherwise than in the driver;
//! all else passes through.

use std::{ffi::c_void, ptr};

use cudarc::{
    driver::sys::{CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D, CUcontext},
    runtime::sys::dim3,
};
use whyoom_lab_abi::{In, Out, exports};

use super::{Before, EdgeData, Handle, kernels::Kernel};
use crate::{
    context::{self, Current},
    copy_blocks::{Parameters, solid},
    error::{Failure, Status},
};

/// `cudaGraphNodeParams`, and `CUgraphNodeParams` too: a number that says the kind, and room for the
/// structure of any.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NodeParameters {
    kind: u32,
    reserved: [u32; 3],
    body: [u64; 29],
    reserved_behind: u64,
}

/// `cudaKernelNodeParamsV2` as far as all versions have it.
#[derive(Clone, Copy)]
#[repr(C)]
struct KernelBody {
    function: *const c_void,
    grid: dim3,
    block: dim3,
    shared: u32,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
}

/// `cudaMemcpyNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
struct CopyBody {
    flags: u32,
    reserved: u32,
    context: *mut c_void,
    copy: Parameters,
}

/// `CUDA_MEMCPY_NODE_PARAMS`.
#[repr(C)]
struct DriverCopy {
    flags: u32,
    reserved: u32,
    context: CUcontext,
    copy: CUDA_MEMCPY3D,
}

const KERNEL: u32 = 0;
const COPY: u32 = 1;
const BODY: usize = size_of::<[u64; 29]>();
const _: () = assert!(size_of::<CopyBody>() <= BODY && size_of::<DriverCopy>() <= BODY);
const _: () = assert!(size_of::<CUDA_KERNEL_NODE_PARAMS_v2>() <= BODY);

impl NodeParameters {
    fn with<T>(&self, body: T) -> Self {
        let mut other = Self { body: [0; 29], ..*self };
        let place = ptr::from_mut(&mut other.body).cast::<T>();
        // SAFETY: the room is ours and larger than each structure that is put here, as checked above.
        unsafe { place.write_unaligned(body) };
        other
    }

    /// The same for the driver.
    fn for_driver(&self, current: &Current) -> Result<Self, Failure> {
        match self.kind {
            KERNEL => {
                let body: KernelBody = In(self.body.as_ptr().cast()).get()?;
                let KernelBody { function, grid, block, shared, arguments, extra } = body;
                let kernel = Kernel { function, grid, block, shared, arguments, extra };
                Ok(self.with(kernel.for_driver(current)?))
            }
            COPY => {
                let body: CopyBody = In(self.body.as_ptr().cast()).get()?;
                let copy = solid(&body.copy)?;
                let context = current.context;
                Ok(self.with(DriverCopy { flags: 0, reserved: 0, context, copy }))
            }
            _ => Ok(*self),
        }
    }
}

/// Adds a node. What the driver answers in the structure goes back to the program.
pub fn add(
    node: Out<Handle>,
    graph: Handle,
    before: Before,
    data: EdgeData,
    parameters: *mut NodeParameters,
) -> Result<(), Failure> {
    let current = context::current()?;
    let given = In(parameters.cast_const()).get()?;
    let mut passed = given.for_driver(&current)?;
    let Before { nodes, count } = before;
    let place = ptr::from_mut(&mut passed).cast();
    current.cuGraphAddNode(node.0, graph, nodes, data, count, place)?;
    if !matches!(given.kind, KERNEL | COPY) {
        Out(parameters).put(passed)?;
    }
    Ok(())
}

exports! { Status;
    fn cudaGraphNodeSetParams(node: Handle, parameters: In<NodeParameters>) {
        let current = context::current()?;
        let mut passed = parameters.get()?.for_driver(&current)?;
        current.cuGraphNodeSetParams(node, ptr::from_mut(&mut passed).cast())
    }

    fn cudaGraphExecNodeSetParams(exec: Handle, node: Handle, parameters: In<NodeParameters>) {
        let current = context::current()?;
        let mut passed = parameters.get()?.for_driver(&current)?;
        current.cuGraphExecNodeSetParams(exec, node, ptr::from_mut(&mut passed).cast())
    }
}
