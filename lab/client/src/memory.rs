//! Allocation, copies, accounting, and a request that cannot be met.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, sys::CUresult};

use crate::checks::Checks;

const MIB: usize = 1 << 20;

/// What a driver may keep or take for itself beside what a program asks for.
const SLACK: usize = 4 * MIB;

/// Data goes to the device and comes back unchanged.
pub(crate) fn copies(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let sent: Vec<u32> =
        (0..100_003).map(|number: u32| number.wrapping_mul(2_654_435_761)).collect();

    let first = stream.clone_htod(&sent)?;
    checks.equal("length", &first.len(), &sent.len());
    checks.that("there and back", stream.clone_dtoh(&first)? == sent);

    let mut second = stream.alloc_zeros::<u32>(sent.len())?;
    checks.that("zeroed", stream.clone_dtoh(&second)?.iter().all(|number| *number == 0));
    stream.memcpy_dtod(&first, &mut second)?;
    checks.that("device to device", stream.clone_dtoh(&second)? == sent);

    let (head, tail) = second.split_at_mut(1000);
    checks.equal("views", &(head.len(), tail.len()), &(1000, sent.len() - 1000));
    let part = first.slice(500..1500);
    checks.that("a part", stream.clone_dtoh(&part)? == sent[500..1500]);

    let other = context.new_stream()?;
    let copy = other.clone_dtod(&first)?;
    other.synchronize()?;
    checks.that("on another stream", other.clone_dtoh(&copy)? == sent);
    checks.that("no error was put aside", context.check_err().is_ok());
    Ok(())
}

/// What is allocated is missing from the free bytes, and what is dropped is back.
pub(crate) fn accounting(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let (before, _) = context.mem_get_info()?;
    let block = stream.alloc_zeros::<u8>(256 * MIB)?;
    stream.synchronize()?;
    let (during, _) = context.mem_get_info()?;
    checks.that("256 MiB are taken", before.saturating_sub(during) >= 256 * MIB);

    drop(block);
    // cudarc frees in stream order; the pool's threshold of zero makes it let go at a synchronize.
    stream.synchronize()?;
    context.synchronize()?;
    let (after, _) = context.mem_get_info()?;
    checks.that("and back", before.abs_diff(after) <= SLACK);
    checks.that("no error was put aside", context.check_err().is_ok());
    Ok(())
}

/// A request over the device's size is refused, and harms nothing.
pub(crate) fn too_much(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let (before, total) = context.mem_get_info()?;
    let refusal = [CUresult::CUDA_ERROR_OUT_OF_MEMORY];
    checks.refused("more than the device", bytes(&stream, total + 64 * MIB), &refusal);
    let most = before / 10 * 6;
    let large = bytes(&stream, most)?;
    checks.refused("60 % twice", bytes(&stream, most), &refusal);
    drop(large);
    stream.synchronize()?;
    checks.that("60 % after the drop", bytes(&stream, most).is_ok());
    stream.synchronize()?;
    Ok(())
}

fn bytes(stream: &Arc<CudaStream>, count: usize) -> Result<CudaSlice<u8>, DriverError> {
    // SAFETY: the memory is never read.
    unsafe { stream.alloc::<u8>(count) }
}

/// Pinned host memory can be written by the host and copied from and to.
pub(crate) fn pinned(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    // SAFETY: every byte is written below before it is read.
    let mut host = unsafe { context.alloc_pinned::<u8>(MIB) }?;
    for (index, byte) in host.as_mut_slice()?.iter_mut().enumerate() {
        *byte = (index % 251) as u8;
    }
    let device = stream.clone_htod(&host)?;
    let back = stream.clone_dtoh(&device)?;
    stream.synchronize()?;
    checks.that("there and back", back.as_slice() == host.as_slice()?);
    Ok(())
}
