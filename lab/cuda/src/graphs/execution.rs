//! Executable graphs.

use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{Driver, HostCall, Work},
};

use super::parameters::{Host, Kernel, Memset};
use crate::{
    callbacks::{self, Callback},
    copies::Copy3D,
    process::{in_context, with},
    status::{Result, Status},
};

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`, with its enumeration as a number.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Instantiation {
    flags: u64,
    upload_stream: u64,
    error_node: u64,
    result: u32,
}

/// `CUgraphExecUpdateResultInfo`, likewise.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct UpdateResult {
    result: u32,
    node: u64,
    from: u64,
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD`.
const UPLOAD: u64 = 2;
/// `CUDA_GRAPH_INSTANTIATE_ERROR` and `CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE`.
const FAILED: u32 = 1;
const INVALID_STRUCTURE: u32 = 2;

fn instantiate(exec: Out<u64>, graph: u64, flags: u64) -> Result<()> {
    if exec.is_null() {
        return Err(Error::InvalidValue.into());
    }
    with(|driver| {
        let made = driver.instantiate(graph, flags).map_err(|(error, _)| error)?;
        Ok(exec.put(made)?)
    })
}

/// Instantiates, and says which node stands in the way.
fn instantiate_telling(exec: Out<u64>, graph: u64, place: *mut Instantiation) -> Result<()> {
    let wanted = In(place.cast_const()).get()?;
    let made = with(|driver| Ok(driver.instantiate(graph, wanted.flags)))?;
    let (result, node) = match &made {
        Ok(_) => (0, 0),
        Err((_, Some(node))) => (INVALID_STRUCTURE, *node),
        Err((_, None)) => (FAILED, 0),
    };
    Out(place).put(Instantiation { result, error_node: node, ..wanted })?;
    let made = made.map_err(|(error, _)| error)?;
    exec.put(made)?;
    if wanted.flags & UPLOAD != 0 { upload(made, wanted.upload_stream) } else { Ok(()) }
}

fn upload(exec: u64, stream: u64) -> Result<()> {
    in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        Ok(driver.upload(context, exec, stream)?)
    })
}

/// Launches a graph; a capturing stream makes it a part of its own graph.
fn launch(exec: u64, stream: u64) -> Result<()> {
    let (after, calls) = in_context(|driver, context| {
        let stream = driver.stream(context, stream)?;
        if driver.is_capturing(context, stream)? {
            driver.capture_launch(stream, exec)?;
            return Ok((Default::default(), Vec::new()));
        }
        let calls = driver.launch_graph(context, exec, stream)?;
        Ok((driver.until_stream(stream)?, calls))
    })?;
    for HostCall { function, data } in calls {
        let callback = Callback::plain(function, data).ok_or(Error::InvalidValue)?;
        callbacks::submit(after, callback);
    }
    Ok(())
}

fn update(exec: u64, graph: u64, result: Out<UpdateResult>) -> Result<()> {
    let outcome = with(|driver| Ok(driver.update_exec(exec, graph)?))?;
    let Err(failure) = outcome else { return Ok(result.put(UpdateResult::default())?) };
    let node = failure.node.unwrap_or_default();
    result.put(UpdateResult { result: failure.reason as u32, node, from: 0 })?;
    Err(Error::GraphExecUpdateFailure.into())
}

fn set(exec: u64, node: u64, work: Work) -> Result<()> {
    with(|driver: &mut Driver| Ok(driver.set_exec_work(exec, node, work)?))
}

exports! { Status;
    fn cuGraphInstantiateWithFlags(exec: Out<u64>, graph: u64, flags: u64) {
        instantiate(exec, graph, flags)
    }

    // The older form, which tells what is wrong as text; there is none to tell here.
    fn cuGraphInstantiate_v2(
        exec: Out<u64>,
        graph: u64,
        error_node: Out<u64>,
        text: Out<std::ffi::c_char>,
        room: usize,
    ) {
        error_node.put_if_wanted(0);
        if !text.is_null() && room > 0 {
            text.put_text("", room)?;
        }
        instantiate(exec, graph, 0)
    }

    fn cuGraphInstantiateWithParams(exec: Out<u64>, graph: u64, parameters: *mut Instantiation) {
        if exec.is_null() {
            return Err(Error::InvalidValue.into());
        }
        instantiate_telling(exec, graph, parameters)
    }

    fn cuGraphExecGetFlags(exec: u64, flags: Out<u64>) {
        with(|driver| Ok(flags.put(driver.exec_flags(exec)?)?))
    }

    fn cuGraphExecDestroy(exec: u64) { with(|driver| Ok(driver.destroy_exec(exec)?)) }

    fn cuGraphUpload(exec: u64, stream: u64) { upload(exec, stream) }

    fn cuGraphLaunch(exec: u64, stream: u64) { launch(exec, stream) }

    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, result: Out<UpdateResult>) {
        update(exec, graph, result)
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, kernel: In<Kernel>) {
        set(exec, node, kernel.get()?.work())
    }

    fn cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, copy: In<Copy3D>, _context: u64) {
        set(exec, node, copy.get()?.work()?)
    }

    fn cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, fill: In<Memset>, _context: u64) {
        set(exec, node, fill.get()?.work()?)
    }

    fn cuGraphExecHostNodeSetParams(exec: u64, node: u64, call: In<Host>) {
        set(exec, node, call.get()?.work()?)
    }

    fn cuGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: u64) {
        set(exec, node, Work::Record(event))
    }

    fn cuGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: u64) {
        set(exec, node, Work::Wait(event))
    }

    fn cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32) {
        with(|driver| Ok(driver.enable_node(exec, node, enabled != 0)?))
    }

    fn cuGraphNodeGetEnabled(exec: u64, node: u64, enabled: Out<u32>) {
        with(|driver| Ok(enabled.put(driver.is_enabled(exec, node)?.into())?))
    }
}
