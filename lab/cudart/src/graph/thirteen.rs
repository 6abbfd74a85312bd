//! Graphs in the forms of CUDA 13: edges come with data.

use cudarc::driver::sys::CUstream;
use whyoom_lab_abi::{Out, exports};

use super::{
    Before, EdgeData, Handle,
    capture::{self, Wanted},
    dependencies::{self, DataOut},
    node_parameters::{self, NodeParameters},
};
use crate::error::Status;

exports! { Status;
    fn cudaStreamGetCaptureInfo(stream: CUstream, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<*const Handle>, data: Out<EdgeData>, count: Out<usize>) {
        capture::information(stream, &Wanted { status, id, graph, nodes, data, count })
    }

    fn cudaStreamUpdateCaptureDependencies(stream: CUstream, nodes: *mut Handle, data: EdgeData, count: usize, flags: u32) {
        capture::update(stream, nodes, data, count, flags)
    }

    fn cudaGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, data: DataOut, count: Out<usize>) {
        dependencies::edges(graph, from, to, data, count)
    }

    fn cudaGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, data: DataOut, count: Out<usize>) {
        dependencies::dependencies(node, nodes, data, count)
    }

    fn cudaGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, data: DataOut, count: Out<usize>) {
        dependencies::dependents(node, nodes, data, count)
    }

    fn cudaGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, data: EdgeData, count: usize) {
        dependencies::add(graph, from, to, data, count)
    }

    fn cudaGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, data: EdgeData, count: usize) {
        dependencies::remove(graph, from, to, data, count)
    }

    fn cudaGraphAddNode(node: Out<Handle>, graph: Handle, nodes: *const Handle, data: EdgeData, count: usize, parameters: *mut NodeParameters) {
        node_parameters::add(node, graph, Before { nodes, count }, data, parameters)
    }
}
