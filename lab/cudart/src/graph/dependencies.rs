//! What nodes wait for, with the data of the edges; null where a form has none.

use whyoom_lab_abi::Out;

use super::{EdgeData, Handle};
use crate::{driver, error::Failure};

/// Where the data of edges is wanted.
pub type DataOut = Out<std::ffi::c_void>;

pub fn edges(
    graph: Handle,
    from: Out<Handle>,
    to: Out<Handle>,
    data: DataOut,
    count: Out<usize>,
) -> Result<(), Failure> {
    driver::initialized()?.cuGraphGetEdges(graph, from.0, to.0, data.0, count.0)
}

pub fn dependencies(
    node: Handle,
    nodes: Out<Handle>,
    data: DataOut,
    count: Out<usize>,
) -> Result<(), Failure> {
    driver::initialized()?.cuGraphNodeGetDependencies(node, nodes.0, data.0, count.0)
}

pub fn dependents(
    node: Handle,
    nodes: Out<Handle>,
    data: DataOut,
    count: Out<usize>,
) -> Result<(), Failure> {
    driver::initialized()?.cuGraphNodeGetDependentNodes(node, nodes.0, data.0, count.0)
}

pub fn add(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    data: EdgeData,
    count: usize,
) -> Result<(), Failure> {
    driver::initialized()?.cuGraphAddDependencies(graph, from, to, data, count)
}

pub fn remove(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    data: EdgeData,
    count: usize,
) -> Result<(), Failure> {
    driver::initialized()?.cuGraphRemoveDependencies(graph, from, to, data, count)
}
