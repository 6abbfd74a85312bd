//! The nodes of executable graphs: changing them, and making graphs of them again.

use super::nodes::can_change;
use crate::{
    driver::{Conditional, Driver, Edge, ExecId, GraphId, NodeId, Work, state::Step},
    error::{Error, Result},
};

impl Driver {
    /// Makes a part of a graph out of an executable one, as a launch into a capture does.
    pub(in crate::driver) fn add_launched(
        &mut self,
        graph: GraphId,
        edges: &[Edge],
        id: ExecId,
    ) -> Result<NodeId> {
        if !self.exec(id)?.spaces.is_empty() {
            return Err(Error::StreamCaptureUnsupported);
        }
        let steps = std::mem::take(&mut self.exec_mut(id)?.steps);
        let node = self.insert_node(graph, edges, Work::Empty)?;
        let part = self.graph_of(&steps, node);
        self.exec_mut(id)?.steps = steps;
        self.node_mut(node)?.work = Work::Child(part?);
        Ok(node)
    }

    fn graph_of(&mut self, steps: &[Step], owner: NodeId) -> Result<GraphId> {
        let graph = self.new_graph(Some(owner));
        let mut nodes: Vec<NodeId> = Vec::new();
        for step in steps {
            let edges: Vec<Edge> =
                step.waits_for.iter().map(|index| Edge::plain(nodes[*index])).collect();
            let node = self.insert_node(graph, &edges, Work::Empty)?;
            let mut parts = Vec::new();
            for part in &step.parts {
                parts.push(self.graph_of(part, node)?);
            }
            self.node_mut(node)?.work = match &step.work {
                Work::Child(_) => Work::Child(parts[0]),
                Work::Conditional(known) => {
                    Work::Conditional(Conditional { bodies: parts, ..known.clone() })
                }
                other => other.clone(),
            };
            nodes.push(node);
        }
        Ok(graph)
    }

    /// Changes what a node of an executable graph does.
    pub fn set_exec_work(&mut self, id: ExecId, node: NodeId, work: Work) -> Result<()> {
        if !can_change(&work) {
            return Err(Error::InvalidValue);
        }
        if let Work::Kernel(launch) = &work {
            self.check_kernel(launch)?;
        }
        let step = find(&mut self.exec_mut(id)?.steps, node).ok_or(Error::InvalidValue)?;
        if step.work.number() != work.number() {
            return Err(Error::InvalidValue);
        }
        step.work = work;
        Ok(())
    }

    /// Switches a node of an executable graph on or off. Documented: kernels, copies and fills.
    pub fn enable_node(&mut self, id: ExecId, node: NodeId, enabled: bool) -> Result<()> {
        let step = find(&mut self.exec_mut(id)?.steps, node).ok_or(Error::InvalidValue)?;
        if !matches!(step.work, Work::Kernel(_) | Work::Copy(_) | Work::Fill(_)) {
            return Err(Error::InvalidValue);
        }
        step.enabled = enabled;
        Ok(())
    }

    /// Whether a node of an executable graph is on.
    pub fn is_enabled(&mut self, id: ExecId, node: NodeId) -> Result<bool> {
        let step = find(&mut self.exec_mut(id)?.steps, node).ok_or(Error::InvalidValue)?;
        Ok(step.enabled)
    }
}

/// The step of a node, in a graph or in one that it is made of.
fn find(steps: &mut [Step], node: NodeId) -> Option<&mut Step> {
    if let Some(index) = steps.iter().position(|step| step.node == node) {
        return steps.get_mut(index);
    }
    steps.iter_mut().flat_map(|step| &mut step.parts).find_map(|part| find(part, node))
}
