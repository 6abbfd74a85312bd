//! Arrays: memory in a layout for textures. They take up memory; nothing can be read through them.

use cudarc::{
    driver::sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUarray_format},
    runtime::sys::cudaExtent,
};
use whyoom_lab_abi::{In, Out, exports, refusals};

use crate::{
    context,
    error::{Failure, Status, refusal},
};

exports! { Status;
    fn cudaMallocArray(array: Out<CUarray>, channels: In<Channels>, width: usize, height: usize, flags: u32) {
        create(array, channels.get()?, cudaExtent { width, height, depth: 0 }, flags)
    }

    fn cudaMalloc3DArray(array: Out<CUarray>, channels: In<Channels>, extent: cudaExtent, flags: u32) {
        create(array, channels.get()?, extent, flags)
    }

    fn cudaFreeArray(array: CUarray) {
        let current = context::current()?;
        if array.is_null() { Ok(()) } else { current.cuArrayDestroy(array) }
    }
}

refusals! { Status = refusal();
    cudaMemcpyToArray cudaMemcpyFromArray cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync
    cudaMemcpy2DFromArray cudaMemcpy2DFromArrayAsync cudaMemcpy2DArrayToArray cudaArrayGetInfo
    cudaGetChannelDesc cudaMallocMipmappedArray cudaFreeMipmappedArray
    cudaCreateTextureObject cudaDestroyTextureObject cudaCreateSurfaceObject
    cudaDestroySurfaceObject
}

/// `cudaCreateChannelDesc`.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: u32) -> Channels {
    Channels { bits: [x, y, z, w], kind }
}

/// `cudaChannelFormatDesc`, with its kind as the number that the program gave.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Channels {
    bits: [i32; 4],
    kind: u32,
}

impl Channels {
    fn count(self) -> u32 {
        self.bits.iter().filter(|&&bits| bits != 0).count() as u32
    }

    fn format(self) -> Result<CUarray_format, Failure> {
        const SIGNED: u32 = 0;
        const UNSIGNED: u32 = 1;
        const FLOAT: u32 = 2;
        match (self.kind, self.bits[0]) {
            (SIGNED, 8) => Ok(CUarray_format::CU_AD_FORMAT_SIGNED_INT8),
            (SIGNED, 16) => Ok(CUarray_format::CU_AD_FORMAT_SIGNED_INT16),
            (SIGNED, 32) => Ok(CUarray_format::CU_AD_FORMAT_SIGNED_INT32),
            (UNSIGNED, 8) => Ok(CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8),
            (UNSIGNED, 16) => Ok(CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16),
            (UNSIGNED, 32) => Ok(CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32),
            (FLOAT, 16) => Ok(CUarray_format::CU_AD_FORMAT_HALF),
            (FLOAT, 32) => Ok(CUarray_format::CU_AD_FORMAT_FLOAT),
            _ => Err(Failure::INVALID_CHANNEL),
        }
    }
}

fn create(
    array: Out<CUarray>,
    channels: Channels,
    extent: cudaExtent,
    flags: u32,
) -> Result<(), Failure> {
    let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
        Width: extent.width,
        Height: extent.height,
        Depth: extent.depth,
        Format: channels.format()?,
        NumChannels: channels.count(),
        Flags: flags,
    };
    context::current()?.cuArray3DCreate(array.0, &descriptor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_follow_kind_and_width() {
        let floats = cudaCreateChannelDesc(32, 32, 0, 0, 2);
        assert_eq!(floats.count(), 2);
        assert_eq!(floats.format(), Ok(CUarray_format::CU_AD_FORMAT_FLOAT));
        let odd = cudaCreateChannelDesc(7, 0, 0, 0, 0);
        assert_eq!(odd.format(), Err(Failure::INVALID_CHANNEL));
    }
}
