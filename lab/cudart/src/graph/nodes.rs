//! Nodes whose parameters both APIs describe alike.

use std::ffi::c_void;

use cudarc::driver::sys::CUevent;
use whyoom_lab_abi::{Out, exports};

use super::Handle;
use crate::{context, driver, error::Status};

exports! { Status;
    fn cudaGraphAddMemsetNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, fill: *const c_void) {
        let current = context::current()?;
        current.cuGraphAddMemsetNode(node.0, graph, nodes, count, fill, current.context)
    }

    fn cudaGraphMemsetNodeGetParams(node: Handle, fill: Out<c_void>) {
        driver::initialized()?.cuGraphMemsetNodeGetParams(node, fill.0)
    }

    fn cudaGraphMemsetNodeSetParams(node: Handle, fill: *const c_void) {
        driver::initialized()?.cuGraphMemsetNodeSetParams(node, fill)
    }

    fn cudaGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, fill: *const c_void) {
        let current = context::current()?;
        current.cuGraphExecMemsetNodeSetParams(exec, node, fill, current.context)
    }

    fn cudaGraphAddHostNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, call: *const c_void) {
        driver::initialized()?.cuGraphAddHostNode(node.0, graph, nodes, count, call)
    }

    fn cudaGraphHostNodeGetParams(node: Handle, call: Out<c_void>) {
        driver::initialized()?.cuGraphHostNodeGetParams(node, call.0)
    }

    fn cudaGraphHostNodeSetParams(node: Handle, call: *const c_void) {
        driver::initialized()?.cuGraphHostNodeSetParams(node, call)
    }

    fn cudaGraphExecHostNodeSetParams(exec: Handle, node: Handle, call: *const c_void) {
        driver::initialized()?.cuGraphExecHostNodeSetParams(exec, node, call)
    }

    fn cudaGraphAddEmptyNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize) {
        driver::initialized()?.cuGraphAddEmptyNode(node.0, graph, nodes, count)
    }

    fn cudaGraphAddChildGraphNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, child: Handle) {
        driver::initialized()?.cuGraphAddChildGraphNode(node.0, graph, nodes, count, child)
    }

    fn cudaGraphChildGraphNodeGetGraph(node: Handle, child: Out<Handle>) {
        driver::initialized()?.cuGraphChildGraphNodeGetGraph(node, child.0)
    }

    fn cudaGraphAddEventRecordNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, event: CUevent) {
        driver::initialized()?.cuGraphAddEventRecordNode(node.0, graph, nodes, count, event)
    }

    fn cudaGraphEventRecordNodeGetEvent(node: Handle, event: Out<CUevent>) {
        driver::initialized()?.cuGraphEventRecordNodeGetEvent(node, event.0)
    }

    fn cudaGraphEventRecordNodeSetEvent(node: Handle, event: CUevent) {
        driver::initialized()?.cuGraphEventRecordNodeSetEvent(node, event)
    }

    fn cudaGraphExecEventRecordNodeSetEvent(exec: Handle, node: Handle, event: CUevent) {
        driver::initialized()?.cuGraphExecEventRecordNodeSetEvent(exec, node, event)
    }

    fn cudaGraphAddEventWaitNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, event: CUevent) {
        driver::initialized()?.cuGraphAddEventWaitNode(node.0, graph, nodes, count, event)
    }

    fn cudaGraphEventWaitNodeGetEvent(node: Handle, event: Out<CUevent>) {
        driver::initialized()?.cuGraphEventWaitNodeGetEvent(node, event.0)
    }

    fn cudaGraphEventWaitNodeSetEvent(node: Handle, event: CUevent) {
        driver::initialized()?.cuGraphEventWaitNodeSetEvent(node, event)
    }

    fn cudaGraphExecEventWaitNodeSetEvent(exec: Handle, node: Handle, event: CUevent) {
        driver::initialized()?.cuGraphExecEventWaitNodeSetEvent(exec, node, event)
    }
}
