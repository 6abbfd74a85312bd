//! Copies of plain ranges. Addresses are unified: the driver sees by itself where each end lies.

use cudarc::driver::sys::{CUdeviceptr, CUmemorytype, CUstream};
use whyoom_lab_abi::exports;

use crate::{
    context,
    error::{Failure, Status},
};

exports! { Status;
    fn cudaMemcpy(to: CUdeviceptr, from: CUdeviceptr, size: usize, kind: u32) {
        let current = context::current()?;
        Direction::of(kind)?;
        if size == 0 { Ok(()) } else { current.cuMemcpy(to, from, size) }
    }

    fn cudaMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, size: usize, kind: u32, stream: CUstream) {
        let current = context::current()?;
        Direction::of(kind)?;
        if size == 0 { Ok(()) } else { current.cuMemcpyAsync(to, from, size, stream) }
    }
}

/// Where the two ends of a copy lie, by a `cudaMemcpyKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    pub from: CUmemorytype,
    pub to: CUmemorytype,
}

impl Direction {
    /// The direction that a number means.
    pub fn of(kind: u32) -> Result<Self, Failure> {
        use CUmemorytype::{
            CU_MEMORYTYPE_DEVICE as DEVICE, CU_MEMORYTYPE_HOST as HOST,
            CU_MEMORYTYPE_UNIFIED as UNIFIED,
        };
        match kind {
            0 => Ok(Self { from: HOST, to: HOST }),
            1 => Ok(Self { from: HOST, to: DEVICE }),
            2 => Ok(Self { from: DEVICE, to: HOST }),
            3 => Ok(Self { from: DEVICE, to: DEVICE }),
            4 => Ok(Self { from: UNIFIED, to: UNIFIED }),
            _ => Err(Failure::INVALID_DIRECTION),
        }
    }
}
