//! Device memory.

use cudarc::{
    driver::sys::CUdeviceptr,
    runtime::sys::{cudaExtent, cudaPitchedPtr},
};
use whyoom_lab_abi::{Out, exports};

use crate::{
    context,
    error::{Failure, Status},
};

exports! { Status;
    fn cudaMalloc(pointer: Out<CUdeviceptr>, size: usize) {
        let current = context::current()?;
        allocate(pointer, size, |place| current.cuMemAlloc(place, size))
    }

    fn cudaMallocManaged(pointer: Out<CUdeviceptr>, size: usize, flags: u32) {
        context::current()?.cuMemAllocManaged(pointer.0, size, flags)
    }

    fn cudaMallocPitch(pointer: Out<CUdeviceptr>, pitch: Out<usize>, width: usize, height: usize) {
        let (address, bytes) = pitched(width, height)?;
        pitch.put(bytes)?;
        Ok(pointer.put(address)?)
    }

    fn cudaMalloc3D(pointer: Out<cudaPitchedPtr>, extent: cudaExtent) {
        let rows = extent.height.checked_mul(extent.depth).ok_or(Failure::INVALID_VALUE)?;
        let (address, pitch) = pitched(extent.width, rows)?;
        let ptr = address as *mut std::ffi::c_void;
        Ok(pointer.put(cudaPitchedPtr { ptr, pitch, xsize: extent.width, ysize: extent.height })?)
    }

    fn cudaFree(pointer: CUdeviceptr) {
        // Freeing null is the customary way to have the context made.
        let current = context::current()?;
        if pointer == 0 { Ok(()) } else { current.cuMemFree(pointer) }
    }

    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) {
        context::current()?.cuMemGetInfo(free.0, total.0)
    }
}

/// Allocates where there is something to allocate: the runtime gives null for zero bytes, the driver
/// refuses them.
pub fn allocate(
    place: Out<CUdeviceptr>,
    size: usize,
    by: impl FnOnce(*mut CUdeviceptr) -> Result<(), Failure>,
) -> Result<(), Failure> {
    place.put(0)?;
    if size == 0 { Ok(()) } else { by(place.0) }
}

fn pitched(width: usize, rows: usize) -> Result<(CUdeviceptr, usize), Failure> {
    /// The smallest element size that the driver accepts; the pitch fits larger ones too.
    const ELEMENT: u32 = 4;
    let current = context::current()?;
    let (mut address, mut pitch) = (0, 0);
    if width > 0 && rows > 0 {
        current.cuMemAllocPitch(&mut address, &mut pitch, width, rows, ELEMENT)?;
    }
    Ok((address, pitch))
}
