//! Copies and fills. The unified address space makes one function of most of them.

mod boxes;

use cudarc::driver::sys;
use whyoom_lab_abi::{In, exports};
use whyoom_lab_core::{
    Error,
    driver::{Box3, Fill, Side, Work},
};

pub(crate) use self::boxes::Copy3D;

use crate::{
    process::{in_context, wait_for_context, with},
    status::{Result, Status},
};

/// `CUDA_MEMCPY2D`, with its enumerations as numbers: C may pass any.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Copy2D {
    source: Side2D,
    target: Side2D,
    width: usize,
    height: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Side2D {
    x: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: u64,
    pitch: usize,
}

const _: () = assert!(size_of::<Copy2D>() == size_of::<sys::CUDA_MEMCPY2D>());

impl Side2D {
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
    if bytes > 0 {
        in_context(|driver, context| {
            driver.check_reach(context, target)?;
            Ok(driver.check_reach(context, source)?)
        })?;
    }
    copy_peer(target, source, bytes, stream)
}

/// A copy that names the devices at both ends, and so needs no access from one to the other.
fn copy_peer(target: u64, source: u64, bytes: usize, stream: u64) -> Result<()> {
    do_on(stream, Work::Copy(Box3::line(target, source, bytes as u64)))
}

/// Does work on a stream, or has it captured.
fn do_on(stream: u64, work: Work) -> Result<()> {
    in_context(|driver, context| Ok(driver.enqueue(context, stream, work).map(drop)?))
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
    let side = |(start, pitch)| Side { start, pitch, slice: 0 };
    let (target, source) = (side(rows.target.place()?), side(rows.source.place()?));
    let (width, height, depth) = (rows.width as u64, rows.height as u64, 1);
    do_on(stream, Work::Copy(Box3 { target, source, width, height, depth }))
}

/// Fills with a value of 1, 2 or 4 bytes.
fn fill(target: u64, element: u32, value: u32, count: usize, stream: u64) -> Result<()> {
    let (width, height) = (count as u64, 1);
    do_on(stream, Work::Fill(Fill { target, pitch: 0, value, element, width, height }))
}

fn fill_rows(
    target: u64,
    pitch: usize,
    value: u8,
    (width, height): (usize, usize),
    stream: u64,
) -> Result<()> {
    let (pitch, width, height) = (pitch as u64, width as u64, height as u64);
    do_on(
        stream,
        Work::Fill(Fill { target, pitch, value: value.into(), element: 1, width, height }),
    )
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
        copy_peer(target, source, bytes, 0)
    }
    fn cuMemcpyPeerAsync(
        target: u64,
        _to: u64,
        source: u64,
        _from: u64,
        bytes: usize,
        stream: u64,
    ) {
        copy_peer(target, source, bytes, stream)
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

    fn cuMemcpy3D_v2(copy: In<Copy3D>) {
        let work = copy.get()?.work()?;
        wait_for_context()?;
        do_on(0, work)
    }
    fn cuMemcpy3DAsync_v2(copy: In<Copy3D>, stream: u64) { do_on(stream, copy.get()?.work()?) }

    fn cuMemsetD8_v2(target: u64, value: u8, count: usize) { fill(target, 1, value.into(), count, 0) }
    fn cuMemsetD16_v2(target: u64, value: u16, count: usize) {
        fill(target, 2, value.into(), count, 0)
    }
    fn cuMemsetD32_v2(target: u64, value: u32, count: usize) {
        fill(target, 4, value, count, 0)
    }
    fn cuMemsetD8Async(target: u64, value: u8, count: usize, stream: u64) {
        fill(target, 1, value.into(), count, stream)
    }
    fn cuMemsetD16Async(target: u64, value: u16, count: usize, stream: u64) {
        fill(target, 2, value.into(), count, stream)
    }
    fn cuMemsetD32Async(target: u64, value: u32, count: usize, stream: u64) {
        fill(target, 4, value, count, stream)
    }
    fn cuMemsetD2D8_v2(target: u64, pitch: usize, value: u8, width: usize, height: usize) {
        fill_rows(target, pitch, value, (width, height), 0)
    }
    fn cuMemsetD2D8Async(
        target: u64,
        pitch: usize,
        value: u8,
        width: usize,
        height: usize,
        stream: u64,
    ) {
        fill_rows(target, pitch, value, (width, height), stream)
    }
}
