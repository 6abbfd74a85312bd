//! Graphs: nodes of work, what each waits for, and executable copies of them.

mod conditions;
mod dot;
mod edges;
mod execution;
mod footprint;
mod memory;
mod nodes;
mod objects;
mod steps;
mod update;

use std::collections::HashMap;

pub use self::{
    footprint::GraphMemoryAttribute,
    update::{UpdateFailure, UpdateReason},
};
use super::{
    Driver, GraphId, NodeId, Work,
    state::{Graph, Node},
};
use crate::error::{Error, Result};

impl Driver {
    /// Makes a graph without nodes.
    pub fn create_graph(&mut self) -> GraphId {
        self.new_graph(None)
    }

    fn new_graph(&mut self, owner: Option<NodeId>) -> GraphId {
        let id = self.new_handle();
        self.graphs.numbered += 1;
        let number = self.graphs.numbered;
        self.graphs.graphs.insert(id, Graph { owner, number, ..Graph::default() });
        id
    }

    fn graph(&self, id: GraphId) -> Result<&Graph> {
        self.graphs.graphs.get(&id).ok_or(Error::InvalidValue)
    }

    fn graph_mut(&mut self, id: GraphId) -> Result<&mut Graph> {
        self.graphs.graphs.get_mut(&id).ok_or(Error::InvalidValue)
    }

    fn node(&self, id: NodeId) -> Result<&Node> {
        self.graphs.nodes.get(&id).ok_or(Error::InvalidValue)
    }

    fn node_mut(&mut self, id: NodeId) -> Result<&mut Node> {
        self.graphs.nodes.get_mut(&id).ok_or(Error::InvalidValue)
    }

    /// Ends a graph and its nodes. Executable graphs that were made of it stay. Parts of other graphs
    /// and graphs that are being captured into are not the caller's to destroy.
    pub fn destroy_graph(&mut self, id: GraphId) -> Result<()> {
        if self.graph(id)?.owner.is_some() || self.graphs.captures.writes_to(id) {
            return Err(Error::InvalidValue);
        }
        self.drop_graph(id);
        Ok(())
    }

    pub(super) fn drop_graph(&mut self, id: GraphId) {
        let Some(graph) = self.graphs.graphs.remove(&id) else { return };
        for node in graph.nodes {
            self.drop_node(node);
        }
        for (object, count) in graph.objects {
            self.release_references(object, count);
        }
        for space in graph.spaces {
            self.end_space_of_graph(space);
        }
    }

    fn drop_node(&mut self, id: NodeId) {
        let Some(node) = self.graphs.nodes.remove(&id) else { return };
        match node.work {
            Work::Child(part) => self.drop_graph(part),
            Work::Conditional(conditional) => {
                for part in conditional.bodies {
                    self.drop_graph(part);
                }
            }
            _ => {}
        }
    }

    /// A copy of a graph, with copies of the graphs that it is made of. Documented: none of graphs
    /// with memory or conditional nodes.
    pub fn clone_graph(&mut self, id: GraphId) -> Result<GraphId> {
        self.graph(id)?;
        if self.has_in_any_part(id, &|work| work.is_memory() || is_conditional(work)) {
            return Err(Error::InvalidValue);
        }
        self.copy_graph(id, None)
    }

    fn copy_graph(&mut self, id: GraphId, owner: Option<NodeId>) -> Result<GraphId> {
        let copy = self.new_graph(owner);
        let (nodes, objects) = {
            let graph = self.graph(id)?;
            (graph.nodes.clone(), graph.objects.clone())
        };
        let mut copies = HashMap::new();
        for original in nodes {
            let (work, edges) = {
                let node = self.node(original)?;
                (node.work.clone(), node.waits_for.clone())
            };
            let new = self.new_handle();
            let work = match work {
                Work::Child(part) => Work::Child(self.copy_graph(part, Some(new))?),
                other => other,
            };
            let node = Node { graph: copy, work, waits_for: edges, original: Some(original) };
            self.graphs.nodes.insert(new, node);
            copies.insert(original, new);
            self.graph_mut(copy)?.nodes.push(new);
        }
        for new in copies.values() {
            for edge in &mut self.node_mut(*new)?.waits_for {
                edge.node = *copies.get(&edge.node).ok_or(Error::InvalidValue)?;
            }
        }
        for (object, count) in objects {
            self.retain_in_graph(copy, object, count)?;
        }
        Ok(copy)
    }

    /// Whether a graph, or one that it is made of, has such work.
    fn has_in_any_part(&self, id: GraphId, is_it: &dyn Fn(&Work) -> bool) -> bool {
        let Ok(graph) = self.graph(id) else { return false };
        graph.nodes.iter().filter_map(|node| self.graphs.nodes.get(node)).any(|node| {
            is_it(&node.work)
                || match &node.work {
                    Work::Child(part) => self.has_in_any_part(*part, is_it),
                    Work::Conditional(conditional) => {
                        conditional.bodies.iter().any(|part| self.has_in_any_part(*part, is_it))
                    }
                    _ => false,
                }
        })
    }

    /// The number of a graph, for tools.
    pub fn graph_number(&self, id: GraphId) -> Result<u32> {
        self.graph(id).map(|graph| graph.number)
    }
}

fn is_conditional(work: &Work) -> bool {
    matches!(work, Work::Conditional(_))
}
