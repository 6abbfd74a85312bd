//! Copies of vectors and matrices between host and device. Memory is real in the lab, so these
//! are real copies.

use std::{ffi::c_void, ptr};

use cudarc::driver::sys::{
    CUDA_MEMCPY2D,
    CUmemorytype::{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
    CUstream,
};
use whyoom_lab_abi::exports;

use crate::{
    driver::Copier,
    status::{Failure, Status},
};

/// Which way a copy goes.
#[derive(Clone, Copy)]
enum Way {
    ToDevice,
    ToHost,
}

/// Pieces of memory at equal distances: the columns of a matrix, the elements of a vector.
struct Pieces {
    bytes: i64,
    count: i64,
    from: usize,
    from_step: i64,
    to: usize,
    to_step: i64,
}

impl Pieces {
    fn copy(&self, way: Way, stream: Option<usize>) -> Result<(), Failure> {
        let size = |number: i64| usize::try_from(number).map_err(|_| Failure::InvalidValue);
        let (bytes, count) = (size(self.bytes)?, size(self.count)?);
        if bytes == 0 || count == 0 {
            return Ok(());
        }
        let (from_type, to_type) = match way {
            Way::ToDevice => (CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE),
            Way::ToHost => (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST),
        };
        // The types say which of the two addresses of each side counts.
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: from_type,
            srcHost: self.from as *const c_void,
            srcDevice: self.from as u64,
            srcArray: ptr::null_mut(),
            srcPitch: size(self.from_step)?,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: to_type,
            dstHost: self.to as *mut c_void,
            dstDevice: self.to as u64,
            dstArray: ptr::null_mut(),
            dstPitch: size(self.to_step)?,
            WidthInBytes: bytes,
            Height: count,
        };
        Copier::get()?.copy(&copy, stream.map(|stream| stream as CUstream))
    }
}

/// The product of two sizes, both of which must be positive.
fn times(size: i64, other: i64) -> Result<i64, Failure> {
    let product = size.checked_mul(other).filter(|_| size > 0 && other > 0);
    product.ok_or(Failure::InvalidValue)
}

/// `rows × columns` elements, or a vector of `columns` single ones.
struct Shape {
    rows: i64,
    columns: i64,
    element: i64,
}

impl Shape {
    fn copy(
        &self,
        way: Way,
        (from, from_step): (usize, i64),
        (to, to_step): (usize, i64),
        stream: Option<usize>,
    ) -> Result<(), Failure> {
        let bytes = self.rows.checked_mul(self.element).ok_or(Failure::InvalidValue)?;
        let from_step = times(from_step, self.element)?;
        let to_step = times(to_step, self.element)?;
        Pieces { bytes, count: self.columns, from, from_step, to, to_step }.copy(way, stream)
    }
}

macro_rules! copies {
    ($($size:ty: $way:ident $vector:ident $vector_async:ident $matrix:ident $matrix_async:ident;)*) => {
        exports! { Status; $(
            fn $vector(
                n: $size, element: $size, from: usize, from_step: $size, to: usize, to_step: $size,
            ) {
                Shape { rows: 1, columns: n.into(), element: element.into() }.copy(
                    Way::$way, (from, from_step.into()), (to, to_step.into()), None,
                )
            }
            fn $vector_async(
                n: $size, element: $size, from: usize, from_step: $size, to: usize, to_step: $size,
                stream: usize,
            ) {
                Shape { rows: 1, columns: n.into(), element: element.into() }.copy(
                    Way::$way, (from, from_step.into()), (to, to_step.into()), Some(stream),
                )
            }
            fn $matrix(
                rows: $size, columns: $size, element: $size, from: usize, from_step: $size,
                to: usize, to_step: $size,
            ) {
                Shape { rows: rows.into(), columns: columns.into(), element: element.into() }.copy(
                    Way::$way, (from, from_step.into()), (to, to_step.into()), None,
                )
            }
            fn $matrix_async(
                rows: $size, columns: $size, element: $size, from: usize, from_step: $size,
                to: usize, to_step: $size, stream: usize,
            ) {
                Shape { rows: rows.into(), columns: columns.into(), element: element.into() }.copy(
                    Way::$way, (from, from_step.into()), (to, to_step.into()), Some(stream),
                )
            }
        )* }
    };
}

copies! {
    i32: ToDevice cublasSetVector cublasSetVectorAsync cublasSetMatrix cublasSetMatrixAsync;
    i32: ToHost cublasGetVector cublasGetVectorAsync cublasGetMatrix cublasGetMatrixAsync;
    i64: ToDevice
        cublasSetVector_64 cublasSetVectorAsync_64 cublasSetMatrix_64 cublasSetMatrixAsync_64;
    i64: ToHost
        cublasGetVector_64 cublasGetVectorAsync_64 cublasGetMatrix_64 cublasGetMatrixAsync_64;
}
