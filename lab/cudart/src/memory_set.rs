//! Filling memory with a byte.

use cudarc::{
    driver::sys::{CUdeviceptr, CUstream},
    runtime::sys::{cudaExtent, cudaPitchedPtr},
};
use whyoom_lab_abi::exports;

use crate::{
    context,
    error::{Failure, Status},
};

exports! { Status;
    fn cudaMemset(pointer: CUdeviceptr, value: i32, count: usize) {
        let current = context::current()?;
        if count == 0 { Ok(()) } else { current.cuMemsetD8(pointer, value as u8, count) }
    }

    fn cudaMemsetAsync(pointer: CUdeviceptr, value: i32, count: usize, stream: CUstream) {
        let current = context::current()?;
        if count == 0 { Ok(()) } else { current.cuMemsetD8Async(pointer, value as u8, count, stream) }
    }

    fn cudaMemset2D(pointer: CUdeviceptr, pitch: usize, value: i32, width: usize, height: usize) {
        context::current()?.cuMemsetD2D8(pointer, pitch, value as u8, width, height)
    }

    fn cudaMemset2DAsync(pointer: CUdeviceptr, pitch: usize, value: i32, width: usize, height: usize, stream: CUstream) {
        context::current()?.cuMemsetD2D8Async(pointer, pitch, value as u8, width, height, stream)
    }

    fn cudaMemset3D(pointer: cudaPitchedPtr, value: i32, extent: cudaExtent) {
        let current = context::current()?;
        by_slice(&pointer, &extent, |slice| {
            current.cuMemsetD2D8(slice, pointer.pitch, value as u8, extent.width, extent.height)
        })
    }

    fn cudaMemset3DAsync(pointer: cudaPitchedPtr, value: i32, extent: cudaExtent, stream: CUstream) {
        let current = context::current()?;
        by_slice(&pointer, &extent, |slice| {
            let (pitch, width, height) = (pointer.pitch, extent.width, extent.height);
            current.cuMemsetD2D8Async(slice, pitch, value as u8, width, height, stream)
        })
    }
}

/// The driver fills rectangles: a box is one per slice.
fn by_slice(
    pointer: &cudaPitchedPtr,
    extent: &cudaExtent,
    fill: impl Fn(CUdeviceptr) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if extent.width == 0 || extent.height == 0 {
        return Ok(());
    }
    let slice = pointer.pitch.checked_mul(pointer.ysize).ok_or(Failure::INVALID_VALUE)?;
    (0..extent.depth).try_for_each(|index| {
        let distance = index.checked_mul(slice).ok_or(Failure::INVALID_VALUE)?;
        let start = (pointer.ptr as usize).checked_add(distance).ok_or(Failure::INVALID_VALUE)?;
        fill(start as CUdeviceptr)
    })
}
