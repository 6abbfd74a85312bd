//! Copies and fills. The unified address space makes one function of most of them.

use cudarc::driver::sys;
use whyoom_lab_abi::{In, exports};
use whyoom_lab_core::Error;

use crate::{
    process::{in_context, wait_for_context, with},
    status::{Result, Status},
};

/// `CUDA_MEMCPY2D`, with its enumerations as numbers: C may pass any.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Copy2D {
    source: Side,
    target: Side,
    width: usize,
    height: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Side {
    x: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: u64,
    pitch: usize,
}

const _: () = assert!(size_of::<Copy2D>() == size_of::<sys::CUDA_MEMCPY2D>());

impl Side {
    /// Where the first row starts, and how far rows are apart.
    fn place(&self) -> Result<(u64, u64)> {
        let pitch = self.pitch as u64;
        let (base, pitch) = match self.kind {
            1 => (self.host, pitch),
            2 | 4 => (self.device, pitch),
            3 => with(|driver| Ok(driver.array_place(self.array)?))?,
            _ => return Err(Error::InvalidValue.into()),
        };
        let row = (self.y as u64).checked_mul(pitch);
        let place = row.and_then(|row| base.checked_add(row)?.checked_add(self.x as u64));
        Ok((place.ok_or(Error::InvalidValue)?, pitch))
    }
}

fn copy(target: u64, source: u64, bytes: usize, stream: u64) -> Result<()> {
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.copy(context, target, source, bytes as u64, stream)?)
    })
}

/// A copy that the host waits for.
fn copy_now(target: u64, source: u64, bytes: usize) -> Result<()> {
    wait_for_context()?;
    copy(target, source, bytes, 0)
}

/// The address of a byte of an array.
fn in_array(array: u64, offset: usize) -> Result<u64> {
    let (base, _) = with(|driver| Ok(driver.array_place(array)?))?;
    Ok(base.checked_add(offset as u64).ok_or(Error::InvalidValue)?)
}

fn copy_rows(parameters: In<Copy2D>, stream: u64) -> Result<()> {
    let rows = parameters.get()?;
    let (target, source) = (rows.target.place()?, rows.source.place()?);
    let size = (rows.width as u64, rows.height as u64);
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.copy_rows(context, target, source, size, stream)?)
    })
}

fn fill(target: u64, pattern: &[u8], count: usize, stream: u64) -> Result<()> {
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.fill(context, target, pattern, count as u64, stream)?)
    })
}

fn fill_rows(
    target: u64,
    pitch: usize,
    pattern: &[u8],
    (width, height): (usize, usize),
    stream: u64,
) -> Result<()> {
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        let size = (width as u64, height as u64);
        Ok(driver.fill_rows(context, (target, pitch as u64), pattern, size, stream)?)
    })
}

exports! { Status;
    fn cuMemcpy(target: u64, source: u64, bytes: usize) { copy_now(target, source, bytes) }
    fn cuMemcpyHtoD_v2(target: u64, source: u64, bytes: usize) { copy_now(target, source, bytes) }
    fn cuMemcpyDtoH_v2(target: u64, source: u64, bytes: usize) { copy_now(target, source, bytes) }
    fn cuMemcpyDtoD_v2(target: u64, source: u64, bytes: usize) { copy(target, source, bytes, 0) }

    fn cuMemcpyAsync(target: u64, source: u64, bytes: usize, stream: u64) {
        copy(target, source, bytes, stream)
    }
    fn cuMemcpyHtoDAsync_v2(target: u64, source: u64, bytes: usize, stream: u64) {
        copy(target, source, bytes, stream)
    }
    fn cuMemcpyDtoHAsync_v2(target: u64, source: u64, bytes: usize, stream: u64) {
        copy(target, source, bytes, stream)
    }
    fn cuMemcpyDtoDAsync_v2(target: u64, source: u64, bytes: usize, stream: u64) {
        copy(target, source, bytes, stream)
    }
    fn cuMemcpyPeer(target: u64, _to: u64, source: u64, _from: u64, bytes: usize) {
        copy(target, source, bytes, 0)
    }
    fn cuMemcpyPeerAsync(
        target: u64,
        _to: u64,
        source: u64,
        _from: u64,
        bytes: usize,
        stream: u64,
    ) {
        copy(target, source, bytes, stream)
    }

    fn cuMemcpyHtoA_v2(array: u64, offset: usize, source: u64, bytes: usize) {
        copy_now(in_array(array, offset)?, source, bytes)
    }
    fn cuMemcpyAtoH_v2(target: u64, array: u64, offset: usize, bytes: usize) {
        copy_now(target, in_array(array, offset)?, bytes)
    }
    fn cuMemcpyDtoA_v2(array: u64, offset: usize, source: u64, bytes: usize) {
        copy(in_array(array, offset)?, source, bytes, 0)
    }
    fn cuMemcpyAtoD_v2(target: u64, array: u64, offset: usize, bytes: usize) {
        copy(target, in_array(array, offset)?, bytes, 0)
    }

    fn cuMemcpy2D_v2(rows: In<Copy2D>) {
        wait_for_context()?;
        copy_rows(rows, 0)
    }
    fn cuMemcpy2DUnaligned_v2(rows: In<Copy2D>) {
        wait_for_context()?;
        copy_rows(rows, 0)
    }
    fn cuMemcpy2DAsync_v2(rows: In<Copy2D>, stream: u64) { copy_rows(rows, stream) }

    fn cuMemsetD8_v2(target: u64, value: u8, count: usize) { fill(target, &[value], count, 0) }
    fn cuMemsetD16_v2(target: u64, value: u16, count: usize) {
        fill(target, &value.to_ne_bytes(), count, 0)
    }
    fn cuMemsetD32_v2(target: u64, value: u32, count: usize) {
        fill(target, &value.to_ne_bytes(), count, 0)
    }
    fn cuMemsetD8Async(target: u64, value: u8, count: usize, stream: u64) {
        fill(target, &[value], count, stream)
    }
    fn cuMemsetD16Async(target: u64, value: u16, count: usize, stream: u64) {
        fill(target, &value.to_ne_bytes(), count, stream)
    }
    fn cuMemsetD32Async(target: u64, value: u32, count: usize, stream: u64) {
        fill(target, &value.to_ne_bytes(), count, stream)
    }
    fn cuMemsetD2D8_v2(target: u64, pitch: usize, value: u8, width: usize, height: usize) {
        fill_rows(target, pitch, &[value], (width, height), 0)
    }
    fn cuMemsetD2D8Async(
        target: u64,
        pitch: usize,
        value: u8,
        width: usize,
        height: usize,
        stream: u64,
    ) {
        fill_rows(target, pitch, &[value], (width, height), stream)
    }
}
