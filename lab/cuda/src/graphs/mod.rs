//! Graphs: making them, and what their nodes wait for.

pub(crate) mod execution;
pub(crate) mod memory;
pub(crate) mod node_parameters;
pub(crate) mod nodes;
pub(crate) mod objects;
mod parameters;
pub(crate) mod tools;

use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{Error, driver::Edge};

use crate::{
    process::with,
    status::{Result, Status},
};

/// `CUgraphEdgeData`, as the bytes that it is.
pub(crate) type EdgeData = [u8; 8];

/// Edges from lists that the program has; without data they are plain.
pub(crate) fn edges(nodes: In<u64>, data: In<EdgeData>, count: usize) -> Result<Vec<Edge>> {
    let nodes = nodes.list(count)?;
    let data = if data.0.is_null() { vec![[0; 8]; count] } else { data.list(count)? };
    Ok(nodes.into_iter().zip(data).map(|(node, data)| Edge { node, data }).collect())
}

/// Fills a list as the queries of graphs do: without a place for it, the number of entries is
/// written; with one, as many as fit, zeros behind them, and the number that was written.
fn list<T: Copy>(found: &[T], nothing: T, place: Out<T>, count: *mut usize) -> Result<()> {
    if place.is_null() {
        return Ok(Out(count).put(found.len())?);
    }
    let room = In(count.cast_const()).get()?;
    let padded = found.iter().copied().chain(std::iter::repeat(nothing)).take(room);
    place.put_all(padded)?;
    Ok(Out(count).put(found.len().min(room))?)
}

/// Lists of edges, in which data that nobody asked for must be plain.
fn edge_list(
    found: &[Edge],
    nodes: Out<u64>,
    data: Out<EdgeData>,
    count: *mut usize,
) -> Result<()> {
    let lossy = data.is_null() && found.iter().any(|edge| edge.data != [0; 8]);
    if lossy && !nodes.is_null() {
        return Err(Error::LossyQuery.into());
    }
    if !data.is_null() && nodes.is_null() {
        return Err(Error::InvalidValue.into());
    }
    let room = if data.is_null() { 0 } else { In(count.cast_const()).get()? };
    let datas: Vec<EdgeData> = found.iter().map(|edge| edge.data).take(room).collect();
    data_out(data, &datas)?;
    list(&found.iter().map(|edge| edge.node).collect::<Vec<_>>(), 0, nodes, count)
}

fn data_out(place: Out<EdgeData>, datas: &[EdgeData]) -> Result<()> {
    if !place.is_null() {
        place.put_all(datas.iter().copied())?;
    }
    Ok(())
}

/// Pairs of nodes from lists that the program has.
fn pairs(from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize) -> Result<Vec<(Edge, u64)>> {
    Ok(edges(from, data, count)?.into_iter().zip(to.list(count)?).collect())
}

const PLAIN: In<EdgeData> = In(std::ptr::null());
const UNWANTED: Out<EdgeData> = Out(std::ptr::null_mut());

fn graph_edges(
    graph: u64,
    from: Out<u64>,
    to: Out<u64>,
    data: Out<EdgeData>,
    count: *mut usize,
) -> Result<()> {
    let found = with(|driver| Ok(driver.graph_edges(graph)?))?;
    if from.is_null() != to.is_null() {
        return Err(Error::InvalidValue.into());
    }
    let starts: Vec<Edge> = found.iter().map(|(edge, _)| *edge).collect();
    let ends: Vec<u64> = found.iter().map(|(_, to)| *to).collect();
    if !to.is_null() {
        let mut room = In(count.cast_const()).get()?;
        list(&ends, 0, to, &mut room)?;
    }
    edge_list(&starts, from, data, count)
}

exports! { Status;
    fn cuGraphCreate(graph: Out<u64>, flags: u32) {
        if flags != 0 || graph.is_null() {
            return Err(Error::InvalidValue.into());
        }
        with(|driver| Ok(graph.put(driver.create_graph())?))
    }

    fn cuGraphDestroy(graph: u64) { with(|driver| Ok(driver.destroy_graph(graph)?)) }

    fn cuGraphClone(copy: Out<u64>, graph: u64) {
        with(|driver| Ok(copy.put(driver.clone_graph(graph)?)?))
    }

    fn cuGraphGetNodes(graph: u64, nodes: Out<u64>, count: *mut usize) {
        list(&with(|driver| Ok(driver.graph_nodes(graph)?))?, 0, nodes, count)
    }

    fn cuGraphGetRootNodes(graph: u64, nodes: Out<u64>, count: *mut usize) {
        list(&with(|driver| Ok(driver.graph_roots(graph)?))?, 0, nodes, count)
    }

    fn cuGraphGetEdges(graph: u64, from: Out<u64>, to: Out<u64>, count: *mut usize) {
        graph_edges(graph, from, to, UNWANTED, count)
    }

    fn cuGraphGetEdges_v2(
        graph: u64,
        from: Out<u64>,
        to: Out<u64>,
        data: Out<EdgeData>,
        count: *mut usize,
    ) {
        graph_edges(graph, from, to, data, count)
    }

    fn cuGraphNodeGetDependencies(node: u64, nodes: Out<u64>, count: *mut usize) {
        edge_list(&with(|driver| Ok(driver.dependencies(node)?))?, nodes, UNWANTED, count)
    }

    fn cuGraphNodeGetDependencies_v2(
        node: u64,
        nodes: Out<u64>,
        data: Out<EdgeData>,
        count: *mut usize,
    ) {
        edge_list(&with(|driver| Ok(driver.dependencies(node)?))?, nodes, data, count)
    }

    fn cuGraphNodeGetDependentNodes(node: u64, nodes: Out<u64>, count: *mut usize) {
        edge_list(&with(|driver| Ok(driver.dependents(node)?))?, nodes, UNWANTED, count)
    }

    fn cuGraphNodeGetDependentNodes_v2(
        node: u64,
        nodes: Out<u64>,
        data: Out<EdgeData>,
        count: *mut usize,
    ) {
        edge_list(&with(|driver| Ok(driver.dependents(node)?))?, nodes, data, count)
    }

    fn cuGraphAddDependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize) {
        let pairs = pairs(from, to, PLAIN, count)?;
        with(|driver| Ok(driver.add_dependencies(graph, &pairs)?))
    }

    fn cuGraphAddDependencies_v2(
        graph: u64,
        from: In<u64>,
        to: In<u64>,
        data: In<EdgeData>,
        count: usize,
    ) {
        let pairs = pairs(from, to, data, count)?;
        with(|driver| Ok(driver.add_dependencies(graph, &pairs)?))
    }

    fn cuGraphRemoveDependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize) {
        let pairs = pairs(from, to, PLAIN, count)?;
        with(|driver| Ok(driver.remove_dependencies(graph, &pairs)?))
    }

    fn cuGraphRemoveDependencies_v2(
        graph: u64,
        from: In<u64>,
        to: In<u64>,
        data: In<EdgeData>,
        count: usize,
    ) {
        let pairs = pairs(from, to, data, count)?;
        with(|driver| Ok(driver.remove_dependencies(graph, &pairs)?))
    }
}
