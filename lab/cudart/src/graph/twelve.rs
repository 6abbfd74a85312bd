//! Graphs in the forms of CUDA 12: without data of edges, and with it under names that end in `_v2`
//! or `_v3`.

use std::ptr;

use cudarc::driver::sys::CUstream;
use whyoom_lab_abi::{Out, exports};

use super::{
    Before, EdgeData, Handle,
    capture::{self, Wanted},
    dependencies::{self, DataOut},
    node_parameters::{self, NodeParameters},
};
use crate::error::Status;

/// No place for data of edges, and no data.
const UNWANTED: DataOut = Out(ptr::null_mut());
const PLAIN: EdgeData = ptr::null();

exports! { Status;
    fn cudaStreamGetCaptureInfo(stream: CUstream, status: Out<u32>, id: Out<u64>) {
        let (graph, nodes) = (Out(ptr::null_mut()), Out(ptr::null_mut()));
        let (data, count) = (Out(ptr::null_mut()), Out(ptr::null_mut()));
        capture::information(stream, &Wanted { status, id, graph, nodes, data, count })
    }

    fn cudaStreamGetCaptureInfo_v2(stream: CUstream, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const Handle>, count: Out<usize>) {
        let data = Out(ptr::null_mut());
        capture::information(stream, &Wanted { status, id, graph, nodes, data, count })
    }

    fn cudaStreamGetCaptureInfo_v3(stream: CUstream, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const Handle>, data: Out<EdgeData>, count: Out<usize>) {
        capture::information(stream, &Wanted { status, id, graph, nodes, data, count })
    }

    fn cudaStreamUpdateCaptureDependencies(stream: CUstream, nodes: *mut Handle, count: usize, flags: u32) {
        capture::update(stream, nodes, PLAIN, count, flags)
    }

    fn cudaStreamUpdateCaptureDependencies_v2(stream: CUstream, nodes: *mut Handle, data: EdgeData, count: usize, flags: u32) {
        capture::update(stream, nodes, data, count, flags)
    }

    fn cudaGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        dependencies::edges(graph, from, to, UNWANTED, count)
    }

    fn cudaGraphGetEdges_v2(graph: Handle, from: Out<Handle>, to: Out<Handle>, data: DataOut, count: Out<usize>) {
        dependencies::edges(graph, from, to, data, count)
    }

    fn cudaGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        dependencies::dependencies(node, nodes, UNWANTED, count)
    }

    fn cudaGraphNodeGetDependencies_v2(node: Handle, nodes: Out<Handle>, data: DataOut, count: Out<usize>) {
        dependencies::dependencies(node, nodes, data, count)
    }

    fn cudaGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        dependencies::dependents(node, nodes, UNWANTED, count)
    }

    fn cudaGraphNodeGetDependentNodes_v2(node: Handle, nodes: Out<Handle>, data: DataOut, count: Out<usize>) {
        dependencies::dependents(node, nodes, data, count)
    }

    fn cudaGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        dependencies::add(graph, from, to, PLAIN, count)
    }

    fn cudaGraphAddDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: EdgeData, count: usize) {
        dependencies::add(graph, from, to, data, count)
    }

    fn cudaGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        dependencies::remove(graph, from, to, PLAIN, count)
    }

    fn cudaGraphRemoveDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: EdgeData, count: usize) {
        dependencies::remove(graph, from, to, data, count)
    }

    fn cudaGraphAddNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, count: usize, parameters: *mut NodeParameters) {
        node_parameters::add(node, graph, Before { nodes, count }, PLAIN, parameters)
    }

    fn cudaGraphAddNode_v2(node: Out<Handle>, graph: Handle, nodes: *const Handle, data: EdgeData, count: usize, parameters: *mut NodeParameters) {
        node_parameters::add(node, graph, Before { nodes, count }, data, parameters)
    }
}
