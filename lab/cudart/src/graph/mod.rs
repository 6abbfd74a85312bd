//! Graphs. A `cudaGraph_t`, a node and an executable graph are the driver's; most structures have one
//! layout in both APIs and pass through as they are.
//!
//! What CUDA 12 and 13 have in different forms is in `twelve` and `thirteen`.

mod capture;
mod copies;
mod dependencies;
mod execution;
mod kernels;
mod memory;
mod node_parameters;
mod nodes;
mod objects;

#[cfg(not(cuda12))]
mod thirteen;
#[cfg(cuda12)]
mod twelve;

use std::ffi::{c_char, c_void};

use whyoom_lab_abi::{In, Out, exports};

pub use self::capture::unnoticed;
use crate::{context, driver, error::Status};

/// A handle of a graph, a node, an executable graph or a user object.
type Handle = u64;

/// Edge data, which passes through.
type EdgeData = *const c_void;

/// The nodes that a new node waits for.
#[derive(Clone, Copy)]
struct Before {
    nodes: *const Handle,
    count: usize,
}

exports! { Status;
    fn cudaGraphCreate(graph: Out<Handle>, flags: u32) {
        driver::initialized()?.cuGraphCreate(graph.0, flags)
    }

    fn cudaGraphDestroy(graph: Handle) { driver::initialized()?.cuGraphDestroy(graph) }

    fn cudaGraphClone(copy: Out<Handle>, graph: Handle) {
        driver::initialized()?.cuGraphClone(copy.0, graph)
    }

    fn cudaGraphNodeFindInClone(node: Out<Handle>, original: Handle, clone: Handle) {
        driver::initialized()?.cuGraphNodeFindInClone(node.0, original, clone)
    }

    fn cudaGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        driver::initialized()?.cuGraphGetNodes(graph, nodes.0, count.0)
    }

    fn cudaGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        driver::initialized()?.cuGraphGetRootNodes(graph, nodes.0, count.0)
    }

    fn cudaGraphNodeGetType(node: Handle, kind: Out<u32>) {
        driver::initialized()?.cuGraphNodeGetType(node, kind.0)
    }

    fn cudaGraphNodeGetContainingGraph(node: Handle, graph: Out<Handle>) {
        driver::initialized()?.cuGraphNodeGetContainingGraph(node, graph.0)
    }

    fn cudaGraphNodeGetLocalId(node: Handle, number: Out<u32>) {
        driver::initialized()?.cuGraphNodeGetLocalId(node, number.0)
    }

    fn cudaGraphNodeGetToolsId(node: Handle, number: Out<u64>) {
        driver::initialized()?.cuGraphNodeGetToolsId(node, number.0)
    }

    fn cudaGraphGetId(graph: Handle, number: Out<u32>) {
        driver::initialized()?.cuGraphGetId(graph, number.0)
    }

    fn cudaGraphExecGetId(exec: Handle, number: Out<u32>) {
        driver::initialized()?.cuGraphExecGetId(exec, number.0)
    }

    fn cudaGraphDestroyNode(node: Handle) { driver::initialized()?.cuGraphDestroyNode(node) }

    fn cudaGraphDebugDotPrint(graph: Handle, path: *const c_char, flags: u32) {
        driver::initialized()?.cuGraphDebugDotPrint(graph, path, flags)
    }

    fn cudaGraphConditionalHandleCreate(handle: Out<u64>, graph: Handle, value: u32, flags: u32) {
        let current = context::current()?;
        current.cuGraphConditionalHandleCreate(handle.0, graph, current.context, value, flags)
    }

    // The context is null for the current one, or one of the driver's.
    fn cudaGraphConditionalHandleCreate_v2(handle: Out<u64>, graph: Handle, _context: *mut c_void, value: u32, flags: u32) {
        let current = context::current()?;
        current.cuGraphConditionalHandleCreate(handle.0, graph, current.context, value, flags)
    }
}

/// A structure that the program lets us read: null is refused here, since it is looked into.
fn given<T: Copy>(place: *const T) -> Result<T, crate::error::Failure> {
    Ok(In(place).get()?)
}
