//! Captures of streams.

use cudarc::driver::sys::CUstream;
use whyoom_lab_abi::{Out, exports};

use super::{EdgeData, Handle};
use crate::{
    context, driver,
    error::{Failure, Status},
};

exports! { Status;
    fn cudaStreamBeginCapture(stream: CUstream, mode: u32) {
        context::current()?.cuStreamBeginCapture(stream, mode)
    }

    fn cudaStreamBeginCaptureToGraph(stream: CUstream, graph: Handle, nodes: *const Handle, data: EdgeData, count: usize, mode: u32) {
        context::current()?.cuStreamBeginCaptureToGraph(stream, graph, nodes, data, count, mode)
    }

    fn cudaStreamEndCapture(stream: CUstream, graph: Out<Handle>) {
        context::current()?.cuStreamEndCapture(stream, graph.0)
    }

    fn cudaStreamIsCapturing(stream: CUstream, status: Out<u32>) {
        context::current()?.cuStreamIsCapturing(stream, status.0)
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: *mut u32) {
        driver::initialized()?.cuThreadExchangeStreamCaptureMode(mode)
    }
}

/// What a program wants to know about a capture; null for what it does not.
pub struct Wanted {
    pub status: Out<u32>,
    pub id: Out<u64>,
    pub graph: Out<Handle>,
    pub nodes: Out<*const Handle>,
    pub data: Out<EdgeData>,
    pub count: Out<usize>,
}

/// Tells it.
pub fn information(stream: CUstream, wanted: &Wanted) -> Result<(), Failure> {
    let Wanted { status, id, graph, nodes, data, count } = wanted;
    let current = context::current()?;
    current.cuStreamGetCaptureInfo(stream, status.0, id.0, graph.0, nodes.0, data.0, count.0)
}

/// Changes what the next node of a capturing stream will wait for.
pub fn update(
    stream: CUstream,
    nodes: *mut Handle,
    data: EdgeData,
    count: usize,
    flags: u32,
) -> Result<(), Failure> {
    context::current()?.cuStreamUpdateCaptureDependencies(stream, nodes, data, count, flags)
}

/// Runs what must not disturb captures, as the runtime's own preparations must not.
pub fn unnoticed<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    const RELAXED: u32 = 2;
    let driver = driver::initialized()?;
    let mut mode = RELAXED;
    driver.cuThreadExchangeStreamCaptureMode(&mut mode)?;
    let answer = call();
    driver.cuThreadExchangeStreamCaptureMode(&mut mode)?;
    answer
}
