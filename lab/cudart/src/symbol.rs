//! Variables of device code, known to the program by the address of their host shadow.

use std::ffi::c_void;

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use whyoom_lab_abi::{Out, exports};

use crate::{
    context::{self, Current},
    copy::Direction,
    error::{Failure, Status},
    registry,
};

exports! { Status;
    fn cudaGetSymbolAddress(pointer: Out<CUdeviceptr>, symbol: *const c_void) {
        Ok(pointer.put(registry::variable(&context::current()?, symbol)?.address)?)
    }

    fn cudaGetSymbolSize(size: Out<usize>, symbol: *const c_void) {
        Ok(size.put(registry::variable(&context::current()?, symbol)?.size)?)
    }

    fn cudaMemcpyToSymbol(symbol: *const c_void, from: CUdeviceptr, size: usize, offset: usize, kind: u32) {
        let current = context::current()?;
        current.cuMemcpy(part(&current, symbol, offset, size, kind)?, from, size)
    }

    fn cudaMemcpyFromSymbol(to: CUdeviceptr, symbol: *const c_void, size: usize, offset: usize, kind: u32) {
        let current = context::current()?;
        current.cuMemcpy(to, part(&current, symbol, offset, size, kind)?, size)
    }

    fn cudaMemcpyToSymbolAsync(symbol: *const c_void, from: CUdeviceptr, size: usize, offset: usize, kind: u32, stream: CUstream) {
        let current = context::current()?;
        current.cuMemcpyAsync(part(&current, symbol, offset, size, kind)?, from, size, stream)
    }

    fn cudaMemcpyFromSymbolAsync(to: CUdeviceptr, symbol: *const c_void, size: usize, offset: usize, kind: u32, stream: CUstream) {
        let current = context::current()?;
        current.cuMemcpyAsync(to, part(&current, symbol, offset, size, kind)?, size, stream)
    }
}

/// The address of a part of a variable, which must lie inside it.
fn part(
    current: &Current,
    symbol: *const c_void,
    offset: usize,
    size: usize,
    kind: u32,
) -> Result<CUdeviceptr, Failure> {
    Direction::of(kind)?;
    let variable = registry::variable(current, symbol)?;
    let end = offset.checked_add(size).ok_or(Failure::INVALID_VALUE)?;
    if end > variable.size {
        return Err(Failure::INVALID_VALUE);
    }
    Ok(variable.address + offset as u64)
}
