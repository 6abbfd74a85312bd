//! Nodes: adding, changing and removing them.

use super::is_conditional;
use crate::{
    driver::{
        Driver, Edge, GraphAllocation, GraphId, NodeId, Work,
        state::{Graph, Node},
    },
    error::{Error, Result},
};

impl Driver {
    /// Adds a node for work that brings nothing of its own. Memory, parts and conditions have calls
    /// of their own.
    pub fn add_node(&mut self, id: GraphId, edges: &[Edge], work: Work) -> Result<NodeId> {
        match &work {
            Work::Kernel(launch) => self.check_kernel(launch)?,
            Work::Wait(event) | Work::Record(event) => {
                self.event_context(*event)?;
            }
            Work::Child(_) | Work::Alloc(_) | Work::Conditional(_) => {
                return Err(Error::InvalidValue);
            }
            Work::Free(address) => return self.add_free(id, edges, *address),
            Work::Copy(_) | Work::Fill(_) | Work::Host(_) | Work::Empty => {}
        }
        self.insert_node(id, edges, work)
    }

    pub(super) fn insert_node(
        &mut self,
        id: GraphId,
        edges: &[Edge],
        work: Work,
    ) -> Result<NodeId> {
        self.check_edges(id, edges)?;
        let node = self.new_handle();
        self.graph_mut(id)?.nodes.push(node);
        let entry = Node { graph: id, work, waits_for: edges.to_vec(), original: None };
        self.graphs.nodes.insert(node, entry);
        Ok(node)
    }

    /// Adds a graph as a part of another: a copy of it, or itself where it is moved. Documented: only
    /// what is moved may have memory, and neither may have conditions.
    pub fn add_child(
        &mut self,
        id: GraphId,
        edges: &[Edge],
        part: GraphId,
        moved: bool,
    ) -> Result<NodeId> {
        self.check_edges(id, edges)?;
        let Graph { owner, .. } = self.graph(part)?;
        let free = owner.is_none() && part != id && !self.graphs.captures.writes_to(part);
        let memory = self.has_in_any_part(part, &|work| work.is_memory());
        if !free || self.has_in_any_part(part, &is_conditional) || (memory && !moved) {
            return Err(Error::InvalidValue);
        }
        let node = self.insert_node(id, edges, Work::Empty)?;
        let part = if moved { part } else { self.copy_graph(part, Some(node))? };
        self.graph_mut(part)?.owner = Some(node);
        self.node_mut(node)?.work = Work::Child(part);
        Ok(node)
    }

    /// Adds an allocation. Its address is fixed from here on; memory comes with a launch.
    pub fn add_alloc(
        &mut self,
        id: GraphId,
        edges: &[Edge],
        device: usize,
        size: u64,
    ) -> Result<(NodeId, u64)> {
        self.check_edges(id, edges)?;
        if size == 0 {
            return Err(Error::InvalidValue);
        }
        let before = self.reachable(edges.iter().map(|edge| edge.node));
        let address = self.take_graph_addresses(id, device, size, &before)?;
        let work = Work::Alloc(GraphAllocation { address, size, device });
        Ok((self.insert_node(id, edges, work)?, address))
    }

    /// Adds the end of an allocation, of this graph or of another's.
    pub(super) fn add_free(&mut self, id: GraphId, edges: &[Edge], address: u64) -> Result<NodeId> {
        self.check_edges(id, edges)?;
        self.check_graph_free(id, address)?;
        let node = self.insert_node(id, edges, Work::Free(address))?;
        self.note_graph_free(id, address, node);
        Ok(node)
    }

    /// Removes a node. Documented: not of a graph with memory.
    pub fn destroy_node(&mut self, id: NodeId) -> Result<()> {
        let graph = self.node(id)?.graph;
        if self.has_memory(graph) || self.graphs.captures.writes_to(graph) {
            return Err(Error::InvalidValue);
        }
        self.drop_node(id);
        self.graph_mut(graph)?.nodes.retain(|node| *node != id);
        for node in self.graph(graph)?.nodes.clone() {
            self.node_mut(node)?.waits_for.retain(|edge| edge.node != id);
        }
        Ok(())
    }

    /// What a node does.
    pub fn node_work(&self, id: NodeId) -> Result<Work> {
        self.node(id).map(|node| node.work.clone())
    }

    /// Where the graphs of a conditional node stand, one behind the other, while the node lives.
    pub fn bodies_place(&self, id: NodeId) -> Result<u64> {
        match &self.node(id)?.work {
            Work::Conditional(conditional) => Ok(conditional.bodies.as_ptr() as u64),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Changes what a node does, not its kind. Memory, parts and conditions stay what they are.
    pub fn set_node_work(&mut self, id: NodeId, work: Work) -> Result<()> {
        let known = &self.node(id)?.work;
        if known.number() != work.number() || !can_change(&work) {
            return Err(Error::InvalidValue);
        }
        if let Work::Kernel(launch) = &work {
            self.check_kernel(launch)?;
        }
        self.node_mut(id)?.work = work;
        Ok(())
    }

    /// The graph that a node belongs to.
    pub fn node_graph(&self, id: NodeId) -> Result<GraphId> {
        self.node(id).map(|node| node.graph)
    }

    /// The copy of a node in a copy of its graph.
    pub fn find_in_clone(&self, original: NodeId, clone: GraphId) -> Result<NodeId> {
        self.node(original)?;
        let nodes = &self.graph(clone)?.nodes;
        let is_it = |node: &&NodeId| {
            self.graphs.nodes.get(node).is_some_and(|node| node.original == Some(original))
        };
        nodes.iter().find(is_it).copied().ok_or(Error::InvalidValue)
    }

    /// The place of a node in its graph, counted from 1.
    pub fn node_number(&self, id: NodeId) -> Result<u32> {
        let nodes = &self.graph(self.node(id)?.graph)?.nodes;
        let place = nodes.iter().position(|node| *node == id).ok_or(Error::InvalidValue)?;
        Ok(place as u32 + 1)
    }
}

/// Whether the parameters of such a node may change.
pub(super) fn can_change(work: &Work) -> bool {
    !work.is_memory() && !matches!(work, Work::Child(_) | Work::Conditional(_) | Work::Empty)
}
