//! Kinds and numbers of nodes, and graphs as text.

use whyoom_lab_abi::{Out, Text, exports};
use whyoom_lab_core::Error;

use super::nodes::work;
use crate::{process::with, status::Status};

exports! { Status;
    fn cuGraphNodeGetType(node: u64, kind: Out<u32>) { Ok(kind.put(work(node)?.number())?) }

    fn cuGraphNodeGetContainingGraph(node: u64, graph: Out<u64>) {
        with(|driver| Ok(graph.put(driver.node_graph(node)?)?))
    }

    fn cuGraphNodeFindInClone(node: Out<u64>, original: u64, clone: u64) {
        with(|driver| Ok(node.put(driver.find_in_clone(original, clone)?)?))
    }

    fn cuGraphNodeGetLocalId(node: u64, number: Out<u32>) {
        with(|driver| Ok(number.put(driver.node_number(node)?)?))
    }

    // For tools: the graph in the upper half, the node's place in it in the lower one.
    fn cuGraphNodeGetToolsId(node: u64, number: Out<u64>) {
        with(|driver| {
            let graph = driver.graph_number(driver.node_graph(node)?)?;
            Ok(number.put(u64::from(graph) << 32 | u64::from(driver.node_number(node)?))?)
        })
    }

    fn cuGraphGetId(graph: u64, number: Out<u32>) {
        with(|driver| Ok(number.put(driver.graph_number(graph)?)?))
    }

    fn cuGraphExecGetId(exec: u64, number: Out<u32>) {
        with(|driver| Ok(number.put(driver.exec_number(exec)?)?))
    }

    fn cuGraphDebugDotPrint(graph: u64, path: Text, _flags: u32) {
        let path = path.get()?;
        let text = with(|driver| Ok(driver.graph_as_dot(graph)?))?;
        Ok(std::fs::write(path, text).map_err(|_| Error::OperatingSystem)?)
    }
}
