//! Captures and graphs.

use cudarc::driver::{
    CudaContext,
    sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode, CUstreamCaptureStatus},
};

use crate::checks::Checks;

const MIB: usize = 1 << 20;
const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;

/// What is captured happens at each launch, and not before.
pub(crate) fn replays(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    // SAFETY: one stream does everything here, in order. Events from outside would break the capture.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let mut source = stream.clone_htod(&[1_u32; 1024])?;
    let mut target = stream.alloc_zeros::<u32>(1024)?;
    stream.synchronize()?;

    stream.begin_capture(RELAXED)?;
    let active = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
    checks.equal("status", &stream.capture_status()?, &active);
    stream.memcpy_dtod(&source, &mut target)?;
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
    let graph = graph.ok_or_else(|| anyhow::anyhow!("no graph"))?;
    checks.that("not yet", stream.clone_dtoh(&target)?.iter().all(|number| *number == 0));
    for round in 2..5_u32 {
        stream.memcpy_htod(&[round; 1024], &mut source)?;
        graph.launch()?;
        stream.synchronize()?;
        checks.that("at each launch", stream.clone_dtoh(&target)? == [round; 1024]);
    }
    Ok(())
}

/// Allocations of a capture are the graph's: memory comes with the launch.
pub(crate) fn memory(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    // SAFETY: as above.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    context.synchronize()?;
    let (before, _) = context.mem_get_info()?;
    stream.begin_capture(GLOBAL)?;
    drop(stream.alloc_zeros::<u8>(256 * MIB)?);
    drop(stream.alloc_zeros::<u8>(256 * MIB)?);
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
    let graph = graph.ok_or_else(|| anyhow::anyhow!("no graph"))?;
    checks.equal("no memory yet", &context.mem_get_info()?.0, &before);
    graph.upload()?;
    graph.launch()?;
    graph.launch()?;
    stream.synchronize()?;
    let taken = before - context.mem_get_info()?.0;
    checks.equal("one behind the other, both in the same memory", &taken, &(256 * MIB));
    Ok(())
}

/// What a capture cannot see is refused, and ends it.
pub(crate) fn forbidden(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    stream.begin_capture(GLOBAL)?;
    let refusal = [CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED];
    checks.refused("waiting for it", stream.synchronize(), &refusal);
    let lost = [CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED];
    let ended = stream.end_capture(CUgraphInstantiate_flags(0)).map(|_| ());
    checks.refused("its end", ended, &lost);
    checks.that("the stream is none the worse", stream.synchronize().is_ok());
    Ok(())
}
