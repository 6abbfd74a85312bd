//! Captures of streams.

use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{CaptureInfo, CaptureMode, exchange_mode},
};

use crate::{
    graphs::{EdgeData, edges},
    process::{in_context, initialized},
    status::{Result, Status},
};

/// `CU_STREAM_CAPTURE_STATUS_NONE` and the two beside it.
const NONE: u32 = 0;
const ACTIVE: u32 = 1;
const INVALIDATED: u32 = 2;
/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`; 0 adds to them.
const SET: u32 = 1;

fn information(stream: u64) -> Result<Option<CaptureInfo>> {
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.capture_info(context, stream)?)
    })
}

fn status_of(information: Option<&CaptureInfo>) -> u32 {
    match information {
        None => NONE,
        Some(CaptureInfo { valid: true, .. }) => ACTIVE,
        Some(_) => INVALIDATED,
    }
}

/// What a program wants to know about a capture.
struct Wanted {
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<u64>,
    nodes: Out<u64>,
    data: Out<u64>,
    count: Out<usize>,
}

/// Documented: all but the status is written for an active capture only.
fn inform(stream: u64, wanted: &Wanted) -> Result<()> {
    let found = information(stream)?;
    wanted.status.put(status_of(found.as_ref()))?;
    let Some(found) = found.filter(|found| found.valid) else { return Ok(()) };
    if found.has_data && !wanted.nodes.is_null() && wanted.data.is_null() {
        return Err(Error::LossyQuery.into());
    }
    wanted.id.put_if_wanted(found.id);
    wanted.graph.put_if_wanted(found.graph);
    wanted.nodes.put_if_wanted(found.lists.0);
    wanted.data.put_if_wanted(found.lists.1);
    wanted.count.put_if_wanted(found.count);
    Ok(())
}

fn update(stream: u64, nodes: In<u64>, data: In<EdgeData>, count: usize, flags: u32) -> Result<()> {
    if flags > SET {
        return Err(Error::InvalidValue.into());
    }
    let edges = edges(nodes, data, count)?;
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.update_capture(stream, &edges, flags == SET)?)
    })
}

exports! { Status;
    fn cuStreamBeginCapture_v2(stream: u64, mode: u32) {
        let mode = CaptureMode::of(mode)?;
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(driver.begin_capture(context, stream, mode, None)?)
        })
    }

    fn cuStreamBeginCaptureToGraph(
        stream: u64,
        graph: u64,
        nodes: In<u64>,
        data: In<EdgeData>,
        count: usize,
        mode: u32,
    ) {
        let (mode, edges) = (CaptureMode::of(mode)?, edges(nodes, data, count)?);
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(driver.begin_capture(context, stream, mode, Some((graph, edges)))?)
        })
    }

    // Documented: the graph is null where the capture was invalidated.
    fn cuStreamEndCapture(stream: u64, graph: Out<u64>) {
        graph.put(0)?;
        in_context(|driver, context| {
            let stream = driver.stream(context, stream)?;
            Ok(graph.put(driver.end_capture(stream)?)?)
        })
    }

    fn cuStreamIsCapturing(stream: u64, status: Out<u32>) {
        Ok(status.put(status_of(information(stream)?.as_ref()))?)
    }

    fn cuStreamGetCaptureInfo_v2(
        stream: u64,
        status: Out<u32>,
        id: Out<u64>,
        graph: Out<u64>,
        nodes: Out<u64>,
        count: Out<usize>,
    ) {
        inform(stream, &Wanted { status, id, graph, nodes, data: Out(std::ptr::null_mut()), count })
    }

    fn cuStreamGetCaptureInfo_v3(
        stream: u64,
        status: Out<u32>,
        id: Out<u64>,
        graph: Out<u64>,
        nodes: Out<u64>,
        data: Out<u64>,
        count: Out<usize>,
    ) {
        inform(stream, &Wanted { status, id, graph, nodes, data, count })
    }

    fn cuStreamUpdateCaptureDependencies(stream: u64, nodes: In<u64>, count: usize, flags: u32) {
        update(stream, nodes, In(std::ptr::null()), count, flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2(
        stream: u64,
        nodes: In<u64>,
        data: In<EdgeData>,
        count: usize,
        flags: u32,
    ) {
        update(stream, nodes, data, count, flags)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) {
        initialized()?;
        let wanted = CaptureMode::of(In(mode.cast_const()).get()?)?;
        Ok(Out(mode).put(exchange_mode(wanted) as u32)?)
    }
}
