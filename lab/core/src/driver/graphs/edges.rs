//! What nodes of a graph wait for.

use std::collections::{HashMap, HashSet};

use crate::{
    driver::{Driver, Edge, GraphId, NodeId},
    error::{Error, Result},
};

impl Driver {
    /// The nodes of a graph, in the order in which they were added.
    pub fn graph_nodes(&self, id: GraphId) -> Result<Vec<NodeId>> {
        self.graph(id).map(|graph| graph.nodes.clone())
    }

    /// The nodes that wait for none.
    pub fn graph_roots(&self, id: GraphId) -> Result<Vec<NodeId>> {
        let waits = |node: &NodeId| self.node(*node).is_ok_and(|node| !node.waits_for.is_empty());
        Ok(self.graph(id)?.nodes.iter().copied().filter(|node| !waits(node)).collect())
    }

    /// What each node waits for: from, to.
    pub fn graph_edges(&self, id: GraphId) -> Result<Vec<(Edge, NodeId)>> {
        let mut edges = Vec::new();
        for node in &self.graph(id)?.nodes {
            edges.extend(self.node(*node)?.waits_for.iter().map(|edge| (*edge, *node)));
        }
        Ok(edges)
    }

    /// What a node waits for.
    pub fn dependencies(&self, node: NodeId) -> Result<Vec<Edge>> {
        self.node(node).map(|node| node.waits_for.clone())
    }

    /// What waits for a node.
    pub fn dependents(&self, node: NodeId) -> Result<Vec<Edge>> {
        let edges = self.graph_edges(self.node(node)?.graph)?;
        let behind = edges.into_iter().filter(|(from, _)| from.node == node);
        Ok(behind.map(|(from, to)| Edge { node: to, data: from.data }).collect())
    }

    /// Makes nodes of a graph wait for others.
    pub fn add_dependencies(&mut self, id: GraphId, pairs: &[(Edge, NodeId)]) -> Result<()> {
        self.check_members(id, pairs)?;
        for (from, to) in pairs {
            if from.node == *to || self.node(*to)?.waits_for.iter().any(|edge| edge == from) {
                return Err(Error::InvalidValue);
            }
        }
        for (from, to) in pairs {
            self.node_mut(*to)?.waits_for.push(*from);
        }
        Ok(())
    }

    /// Ends that. Documented: not in graphs with memory.
    pub fn remove_dependencies(&mut self, id: GraphId, pairs: &[(Edge, NodeId)]) -> Result<()> {
        self.check_members(id, pairs)?;
        if self.has_memory(id) {
            return Err(Error::InvalidValue);
        }
        for (from, to) in pairs {
            if !self.node(*to)?.waits_for.contains(from) {
                return Err(Error::InvalidValue);
            }
        }
        for (from, to) in pairs {
            self.node_mut(*to)?.waits_for.retain(|edge| edge != from);
        }
        Ok(())
    }

    fn check_members(&self, id: GraphId, pairs: &[(Edge, NodeId)]) -> Result<()> {
        self.graph(id)?;
        let is_member = |node| self.node(node).is_ok_and(|node| node.graph == id);
        let all = pairs.iter().all(|(from, to)| is_member(from.node) && is_member(*to));
        if all { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// The edges of a new node: nodes of the graph, and none twice.
    pub(in crate::driver) fn check_edges(&self, id: GraphId, edges: &[Edge]) -> Result<()> {
        let mut seen = HashSet::new();
        for edge in edges {
            if self.node(edge.node)?.graph != id || !seen.insert(edge.node) {
                return Err(Error::InvalidValue);
            }
        }
        Ok(())
    }

    /// The nodes and all that they wait for.
    pub(in crate::driver) fn reachable(
        &self,
        from: impl IntoIterator<Item = NodeId>,
    ) -> HashSet<NodeId> {
        let mut pending: Vec<NodeId> = from.into_iter().collect();
        let mut seen = HashSet::new();
        while let Some(id) = pending.pop() {
            if let Some(node) = self.graphs.nodes.get(&id)
                && seen.insert(id)
            {
                pending.extend(node.waits_for.iter().map(|edge| edge.node));
            }
        }
        seen
    }

    /// The nodes of a graph, each behind what it waits for and otherwise in their own order; an error
    /// with one of the nodes where they wait for each other.
    pub(super) fn in_order(&self, id: GraphId) -> std::result::Result<Vec<NodeId>, Option<NodeId>> {
        let nodes = &self.graph(id).map_err(|_| None)?.nodes;
        let mut left: HashMap<NodeId, usize> = HashMap::new();
        let mut behind: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for node in nodes {
            let edges = &self.node(*node).map_err(|_| None)?.waits_for;
            left.insert(*node, edges.len());
            for edge in edges {
                behind.entry(edge.node).or_default().push(*node);
            }
        }
        let place: HashMap<NodeId, usize> =
            nodes.iter().enumerate().map(|(place, node)| (*node, place)).collect();
        let mut ready: std::collections::BTreeSet<(usize, NodeId)> =
            nodes.iter().filter(|node| left[*node] == 0).map(|node| (place[node], *node)).collect();
        let mut ordered = Vec::with_capacity(nodes.len());
        while let Some((_, node)) = ready.pop_first() {
            ordered.push(node);
            for next in behind.remove(&node).unwrap_or_default() {
                let count = left.entry(next).or_default();
                *count = count.saturating_sub(1);
                if *count == 0 {
                    ready.insert((place[&next], next));
                }
            }
        }
        match nodes.iter().find(|node| left[*node] > 0) {
            None => Ok(ordered),
            stuck => Err(stuck.copied()),
        }
    }
}
