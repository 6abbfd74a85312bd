//! What nodes do, in the structures of the API and back. Enumerations are numbers: C may pass any.

use cudarc::driver::sys;
use whyoom_lab_core::{
    Error,
    driver::{Fill, HostCall, Launch, Work},
};

use crate::{copies::Copy3D, pools::PoolProperties, status::Result};

/// `CUDA_KERNEL_NODE_PARAMS_v2` and `_v3`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Kernel {
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    arguments: u64,
    extra: u64,
    kernel: u64,
    context: u64,
}

const _: () = assert!(size_of::<Kernel>() == size_of::<sys::CUDA_KERNEL_NODE_PARAMS_v3>());

impl Kernel {
    /// The launch: of the function, or of the kernel that stands for it, which has the same number.
    pub(super) fn work(&self) -> Work {
        let function = if self.function == 0 { self.kernel } else { self.function };
        let Self { grid, block, shared, .. } = *self;
        Work::Kernel(Launch { function, grid, block, shared, stream: 0 })
    }

    /// Arguments are not kept: nothing is computed with them.
    pub(super) fn of(launch: &Launch) -> Self {
        let Launch { function, grid, block, shared, .. } = *launch;
        Self { function, grid, block, shared, ..Self::default() }
    }
}

/// `CUDA_MEMSET_NODE_PARAMS`, with the context that its second version has.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Memset {
    target: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

const _: () = assert!(size_of::<Memset>() == size_of::<sys::CUDA_MEMSET_NODE_PARAMS>());

impl Memset {
    pub(super) fn work(&self) -> Result<Work> {
        if !matches!(self.element, 1 | 2 | 4) || self.width == 0 || self.height == 0 {
            return Err(Error::InvalidValue.into());
        }
        Ok(Work::Fill(Fill {
            target: self.target,
            pitch: self.pitch as u64,
            value: self.value,
            element: self.element,
            width: self.width as u64,
            height: self.height as u64,
        }))
    }

    pub(super) fn of(fill: &Fill) -> Self {
        Self {
            target: fill.target,
            pitch: fill.pitch as usize,
            value: fill.value,
            element: fill.element,
            width: fill.width as usize,
            height: fill.height as usize,
        }
    }
}

/// `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Host {
    function: u64,
    data: u64,
}

impl Host {
    pub(super) fn work(&self) -> Result<Work> {
        let Self { function, data } = *self;
        if function == 0 {
            return Err(Error::InvalidValue.into());
        }
        Ok(Work::Host(HostCall { function, data }))
    }

    pub(super) fn of(call: &HostCall) -> Self {
        Self { function: call.function, data: call.data }
    }
}

/// `CUDA_MEMCPY_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Memcpy {
    pub(super) flags: u32,
    pub(super) reserved: u32,
    pub(super) context: u64,
    pub(super) copy: Copy3D,
}

const _: () = assert!(size_of::<Memcpy>() == size_of::<sys::CUDA_MEMCPY_NODE_PARAMS>());

/// `CUDA_CHILD_GRAPH_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Child {
    pub(super) graph: u64,
    /// Whether it is copied (0) or moved (1).
    pub(super) ownership: i32,
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Alloc {
    pub(super) pool: PoolProperties,
    pub(super) pool_rest: [u64; 9],
    pub(super) access: u64,
    pub(super) access_count: usize,
    pub(super) size: usize,
    pub(super) address: u64,
}

const _: () = assert!(size_of::<Alloc>() == size_of::<sys::CUDA_MEM_ALLOC_NODE_PARAMS_v2>());

/// `CUDA_CONDITIONAL_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Condition {
    pub(super) handle: u64,
    pub(super) kind: u32,
    pub(super) size: u32,
    pub(super) graphs: u64,
    pub(super) context: u64,
}

const _: () = assert!(size_of::<Condition>() == size_of::<sys::CUDA_CONDITIONAL_NODE_PARAMS>());
