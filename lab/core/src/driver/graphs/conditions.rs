//! Conditional nodes. Only kernels can change their values, and kernels do nothing here: a value is
//! what the handle was made with, or zero.

use crate::{
    driver::{Conditional, Driver, Edge, GraphId, NodeId, Work},
    error::{Error, Result},
};

/// The kinds as the API numbers them.
const IF: u32 = 0;
const WHILE: u32 = 1;
const SWITCH: u32 = 2;

impl Driver {
    /// Makes the handle of a value: what it is at each launch.
    pub fn create_condition(&mut self, graph: GraphId, value: u32) -> Result<u64> {
        self.graph(graph)?;
        let handle = self.new_handle();
        self.graphs.conditions.insert(handle, value);
        Ok(handle)
    }

    /// Adds a conditional node with empty graphs for the program to fill.
    pub fn add_conditional(
        &mut self,
        graph: GraphId,
        edges: &[Edge],
        handle: u64,
        kind: u32,
        size: u32,
    ) -> Result<(NodeId, Vec<GraphId>)> {
        let fits = match kind {
            IF => matches!(size, 1 | 2),
            WHILE => size == 1,
            SWITCH => size > 0,
            _ => false,
        };
        if !fits || !self.graphs.conditions.contains_key(&handle) {
            return Err(Error::InvalidValue);
        }
        let node = self.insert_node(graph, edges, Work::Empty)?;
        let bodies: Vec<GraphId> = (0..size).map(|_| self.new_graph(Some(node))).collect();
        let conditional = Conditional { handle, kind, bodies: bodies.clone() };
        self.node_mut(node)?.work = Work::Conditional(conditional);
        Ok((node, bodies))
    }

    /// The graph that runs. A loop runs once: no kernel would end it.
    pub(super) fn chosen(&self, conditional: &Conditional) -> Option<usize> {
        let value = self.graphs.conditions.get(&conditional.handle).copied().unwrap_or_default();
        match conditional.kind {
            IF if value == 0 => Some(1),
            WHILE if value == 0 => None,
            SWITCH => Some(value as usize),
            _ => Some(0),
        }
    }
}
