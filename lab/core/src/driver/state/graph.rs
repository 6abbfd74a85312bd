//! Graphs, their nodes, and what belongs to them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    capture::Captures,
    edge::Edge,
    exec::Exec,
    ids::{ExecId, GraphId, NodeId, ObjectId},
    work::{HostCall, Work},
};
use crate::{graph_memory::GraphMemory, graph_space::Space};

/// All graphs of a process.
#[derive(Default)]
pub(crate) struct Graphs {
    pub(crate) graphs: HashMap<GraphId, Graph>,
    pub(crate) nodes: HashMap<NodeId, Node>,
    pub(crate) execs: HashMap<ExecId, Exec>,
    pub(crate) objects: HashMap<ObjectId, UserObject>,
    /// The values of conditional nodes: what they are at each launch.
    pub(crate) conditions: HashMap<u64, u32>,
    pub(crate) spaces: HashMap<u64, GraphSpace>,
    /// By device.
    pub(crate) memory: BTreeMap<usize, GraphMemory>,
    pub(crate) captures: Captures,
    /// Graphs are numbered from 1 for tools.
    pub(crate) numbered: u32,
}

/// A graph.
#[derive(Default)]
pub(crate) struct Graph {
    /// In the order in which they were added.
    pub(crate) nodes: Vec<NodeId>,
    /// The node that it belongs to, where it is a part of another graph.
    pub(crate) owner: Option<NodeId>,
    /// References to objects of the program's.
    pub(crate) objects: HashMap<ObjectId, u32>,
    /// The addresses of its allocations, one space for each device.
    pub(crate) spaces: Vec<u64>,
    pub(crate) number: u32,
}

/// A node of a graph.
pub(crate) struct Node {
    pub(crate) graph: GraphId,
    pub(crate) work: Work,
    pub(crate) waits_for: Vec<Edge>,
    /// The node that it is a copy of.
    pub(crate) original: Option<NodeId>,
}

/// The addresses of one graph on one device. They last as long as the graph, an executable copy of
/// it, or an allocation in them does.
pub(crate) struct GraphSpace {
    pub(crate) device: usize,
    pub(crate) graph: GraphId,
    pub(crate) graph_lives: bool,
    /// Whether an executable graph has it: documented, there is one at a time.
    pub(crate) executable: bool,
    /// Whether a launch is going through its nodes: until that ends, it holds all of its memory.
    pub(crate) running: bool,
    pub(crate) space: Space,
    /// Allocations that a node of another graph frees.
    pub(crate) freed_elsewhere: HashSet<u64>,
}

/// Something of the program's with a count of references.
pub(crate) struct UserObject {
    pub(crate) destroy: HostCall,
    /// References of the program's and of graphs together.
    pub(crate) references: u64,
}
