//! Copies of rectangles and boxes between pitched memory. Arrays as an end are not supported.

use std::mem::MaybeUninit;

use cudarc::{
    driver::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUdeviceptr, CUmemorytype, CUstream},
    runtime::sys::{cudaArray_t, cudaExtent, cudaPitchedPtr, cudaPos},
};
use whyoom_lab_abi::{In, exports};

use crate::{
    context,
    copy::Direction,
    error::{Failure, Status},
};

exports! { Status;
    fn cudaMemcpy2D(to: CUdeviceptr, to_pitch: usize, from: CUdeviceptr, from_pitch: usize, width: usize, height: usize, kind: u32) {
        let current = context::current()?;
        let ends = [Rows { at: from, pitch: from_pitch }, Rows { at: to, pitch: to_pitch }];
        match rectangle(ends, width, height, kind)? {
            Some(copy) => current.cuMemcpy2DUnaligned(&copy),
            None => Ok(()),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn cudaMemcpy2DAsync(to: CUdeviceptr, to_pitch: usize, from: CUdeviceptr, from_pitch: usize, width: usize, height: usize, kind: u32, stream: CUstream) {
        let current = context::current()?;
        let ends = [Rows { at: from, pitch: from_pitch }, Rows { at: to, pitch: to_pitch }];
        match rectangle(ends, width, height, kind)? {
            Some(copy) => current.cuMemcpy2DAsync(&copy, stream),
            None => Ok(()),
        }
    }

    fn cudaMemcpy3D(parameters: In<Parameters>) {
        context::current()?.cuMemcpy3D(&solid(&parameters.get()?)?)
    }

    fn cudaMemcpy3DAsync(parameters: In<Parameters>, stream: CUstream) {
        context::current()?.cuMemcpy3DAsync(&solid(&parameters.get()?)?, stream)
    }
}

/// One end of a rectangle.
#[derive(Clone, Copy)]
struct Rows {
    at: CUdeviceptr,
    pitch: usize,
}

/// The copy of a rectangle; none if it is empty.
fn rectangle(
    [from, to]: [Rows; 2],
    width: usize,
    height: usize,
    kind: u32,
) -> Result<Option<CUDA_MEMCPY2D>, Failure> {
    let direction = Direction::of(kind)?;
    if from.pitch < width || to.pitch < width {
        return Err(Failure::INVALID_PITCH);
    }
    if width == 0 || height == 0 {
        return Ok(None);
    }
    Ok(Some(CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: direction.from,
        srcHost: from.at as *const _,
        srcDevice: from.at,
        srcArray: std::ptr::null_mut(),
        srcPitch: from.pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: direction.to,
        dstHost: to.at as *mut _,
        dstDevice: to.at,
        dstArray: std::ptr::null_mut(),
        dstPitch: to.pitch,
        WidthInBytes: width,
        Height: height,
    }))
}

/// `cudaMemcpy3DParms`, with its kind as the number that the program gave.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Parameters {
    from_array: cudaArray_t,
    from_position: cudaPos,
    from: cudaPitchedPtr,
    to_array: cudaArray_t,
    to_position: cudaPos,
    to: cudaPitchedPtr,
    extent: cudaExtent,
    kind: u32,
}

impl Parameters {
    /// A copy between two places in pitched memory.
    pub fn between(
        (from, from_position): (cudaPitchedPtr, cudaPos),
        (to, to_position): (cudaPitchedPtr, cudaPos),
        extent: cudaExtent,
        kind: u32,
    ) -> Self {
        let (from_array, to_array) = (std::ptr::null_mut(), std::ptr::null_mut());
        Self { from_array, from_position, from, to_array, to_position, to, extent, kind }
    }
}

/// The copy of a plain range.
pub fn line(to: CUdeviceptr, from: CUdeviceptr, size: usize, ends: Direction) -> CUDA_MEMCPY3D {
    let mut copy = unplaced(ends.from, ends.to);
    (copy.srcHost, copy.srcDevice) = (from as *const _, from);
    (copy.dstHost, copy.dstDevice) = (to as *mut _, to);
    (copy.srcPitch, copy.srcHeight, copy.dstPitch, copy.dstHeight) = (size, 1, size, 1);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (size, 1, 1);
    copy
}

/// The copy of a box, for the driver.
pub fn solid(parameters: &Parameters) -> Result<CUDA_MEMCPY3D, Failure> {
    if !parameters.from_array.is_null() || !parameters.to_array.is_null() {
        return Err(Failure::NOT_SUPPORTED);
    }
    let Direction { from, to } = Direction::of(parameters.kind)?;
    let mut copy = unplaced(from, to);
    let (pointer, position) = (&parameters.from, &parameters.from_position);
    (copy.srcXInBytes, copy.srcY, copy.srcZ) = (position.x, position.y, position.z);
    (copy.srcHost, copy.srcDevice) = (pointer.ptr, pointer.ptr as CUdeviceptr);
    (copy.srcPitch, copy.srcHeight) = (pointer.pitch, pointer.ysize);
    let (pointer, position) = (&parameters.to, &parameters.to_position);
    (copy.dstXInBytes, copy.dstY, copy.dstZ) = (position.x, position.y, position.z);
    (copy.dstHost, copy.dstDevice) = (pointer.ptr, pointer.ptr as CUdeviceptr);
    (copy.dstPitch, copy.dstHeight) = (pointer.pitch, pointer.ysize);
    let extent = &parameters.extent;
    (copy.WidthInBytes, copy.Height, copy.Depth) = (extent.width, extent.height, extent.depth);
    Ok(copy)
}

fn unplaced(from: CUmemorytype, to: CUmemorytype) -> CUDA_MEMCPY3D {
    let mut copy = MaybeUninit::<CUDA_MEMCPY3D>::zeroed();
    let place = copy.as_mut_ptr();
    // SAFETY: the place is ours. Numbers and pointers may be zero; the two fields that may not, the
    // memory types, are written before the value is taken.
    unsafe {
        (&raw mut (*place).srcMemoryType).write(from);
        (&raw mut (*place).dstMemoryType).write(to);
        copy.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_need_pitches_as_wide_as_their_rows() {
        let ends = |pitch| [Rows { at: 64, pitch }, Rows { at: 128, pitch: 16 }];
        assert_eq!(rectangle(ends(8), 9, 2, 4), Err(Failure::INVALID_PITCH));
        assert_eq!(rectangle(ends(9), 9, 0, 4), Ok(None));
        assert_eq!(rectangle(ends(9), 9, 2, 5), Err(Failure::INVALID_DIRECTION));
        let copy = rectangle(ends(9), 9, 2, 1).expect("valid").expect("not empty");
        assert_eq!((copy.srcDevice, copy.dstDevice, copy.Height), (64, 128, 2));
        assert_eq!(copy.srcMemoryType, CUmemorytype::CU_MEMORYTYPE_HOST);
    }
}
