//! Nodes by the functions that each kind has of its own.

use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{Error, driver::Work};

use super::{
    PLAIN, edges,
    parameters::{Host, Kernel, Memset},
};
use crate::{
    copies::Copy3D,
    process::with,
    status::{Result, Status},
};

/// Adds a node.
pub(super) fn add(
    node: Out<u64>,
    graph: u64,
    before: In<u64>,
    count: usize,
    work: Work,
) -> Result<()> {
    let edges = edges(before, PLAIN, count)?;
    if node.is_null() {
        return Err(Error::InvalidValue.into());
    }
    with(|driver| Ok(node.put(driver.add_node(graph, &edges, work)?)?))
}

fn set(node: u64, work: Work) -> Result<()> {
    with(|driver| Ok(driver.set_node_work(node, work)?))
}

/// What a node does.
pub(super) fn work(node: u64) -> Result<Work> {
    with(|driver| Ok(driver.node_work(node)?))
}

/// A value that only nodes of another kind have.
pub(super) fn other_kind<T>() -> Result<T> {
    Err(Error::InvalidValue.into())
}

exports! { Status;
    fn cuGraphAddKernelNode_v2(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        kernel: In<Kernel>,
    ) {
        add(node, graph, before, count, kernel.get()?.work())
    }

    fn cuGraphKernelNodeGetParams_v2(node: u64, kernel: Out<Kernel>) {
        match work(node)? {
            Work::Kernel(launch) => Ok(kernel.put(Kernel::of(&launch))?),
            _ => other_kind(),
        }
    }

    fn cuGraphKernelNodeSetParams_v2(node: u64, kernel: In<Kernel>) {
        set(node, kernel.get()?.work())
    }

    fn cuGraphAddMemcpyNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        copy: In<Copy3D>,
        _context: u64,
    ) {
        add(node, graph, before, count, copy.get()?.work()?)
    }

    fn cuGraphMemcpyNodeGetParams(node: u64, copy: Out<Copy3D>) {
        match work(node)? {
            Work::Copy(found) => Ok(copy.put(Copy3D::of(&found))?),
            _ => other_kind(),
        }
    }

    fn cuGraphMemcpyNodeSetParams(node: u64, copy: In<Copy3D>) { set(node, copy.get()?.work()?) }

    fn cuGraphAddMemsetNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        fill: In<Memset>,
        _context: u64,
    ) {
        add(node, graph, before, count, fill.get()?.work()?)
    }

    fn cuGraphMemsetNodeGetParams(node: u64, fill: Out<Memset>) {
        match work(node)? {
            Work::Fill(found) => Ok(fill.put(Memset::of(&found))?),
            _ => other_kind(),
        }
    }

    fn cuGraphMemsetNodeSetParams(node: u64, fill: In<Memset>) { set(node, fill.get()?.work()?) }

    fn cuGraphAddHostNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        call: In<Host>,
    ) {
        add(node, graph, before, count, call.get()?.work()?)
    }

    fn cuGraphHostNodeGetParams(node: u64, call: Out<Host>) {
        match work(node)? {
            Work::Host(found) => Ok(call.put(Host::of(&found))?),
            _ => other_kind(),
        }
    }

    fn cuGraphHostNodeSetParams(node: u64, call: In<Host>) { set(node, call.get()?.work()?) }

    fn cuGraphAddEmptyNode(node: Out<u64>, graph: u64, before: In<u64>, count: usize) {
        add(node, graph, before, count, Work::Empty)
    }

    fn cuGraphAddEventRecordNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        event: u64,
    ) {
        add(node, graph, before, count, Work::Record(event))
    }

    fn cuGraphEventRecordNodeGetEvent(node: u64, event: Out<u64>) {
        match work(node)? {
            Work::Record(found) => Ok(event.put(found)?),
            _ => other_kind(),
        }
    }

    fn cuGraphEventRecordNodeSetEvent(node: u64, event: u64) { set(node, Work::Record(event)) }

    fn cuGraphAddEventWaitNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        event: u64,
    ) {
        add(node, graph, before, count, Work::Wait(event))
    }

    fn cuGraphEventWaitNodeGetEvent(node: u64, event: Out<u64>) {
        match work(node)? {
            Work::Wait(found) => Ok(event.put(found)?),
            _ => other_kind(),
        }
    }

    fn cuGraphEventWaitNodeSetEvent(node: u64, event: u64) { set(node, Work::Wait(event)) }

    fn cuGraphAddChildGraphNode(
        node: Out<u64>,
        graph: u64,
        before: In<u64>,
        count: usize,
        child: u64,
    ) {
        let edges = edges(before, PLAIN, count)?;
        with(|driver| Ok(node.put(driver.add_child(graph, &edges, child, false)?)?))
    }

    fn cuGraphChildGraphNodeGetGraph(node: u64, child: Out<u64>) {
        match work(node)? {
            Work::Child(found) => Ok(child.put(found)?),
            _ => other_kind(),
        }
    }

    fn cuGraphDestroyNode(node: u64) { with(|driver| Ok(driver.destroy_node(node)?)) }
}
