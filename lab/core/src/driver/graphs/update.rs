//! New parameters for an executable graph, from a graph of the same shape.

use super::nodes::can_change;
use crate::{
    driver::{Driver, ExecId, GraphId, NodeId, Work, state::Step},
    error::{Error, Result},
};

/// Why an executable graph was not updated, as the API numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum UpdateReason {
    /// Something else.
    Error = 1,
    /// Other nodes, or other dependencies.
    Topology = 2,
    /// A node of another kind.
    NodeType = 3,
    /// Parameters that cannot change.
    Parameters = 5,
    /// Something that updates cannot do.
    NotSupported = 6,
}

/// Why an executable graph was not updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateFailure {
    /// Why.
    pub reason: UpdateReason,
    /// The node of the new graph that it is about.
    pub node: Option<NodeId>,
}

fn failed(reason: UpdateReason, node: Option<NodeId>) -> UpdateFailure {
    UpdateFailure { reason, node }
}

impl Driver {
    /// Gives an executable graph the parameters of a graph of the same shape.
    pub fn update_exec(
        &mut self,
        id: ExecId,
        graph: GraphId,
    ) -> Result<std::result::Result<(), UpdateFailure>> {
        let Ok(new) = self.steps(graph) else {
            return self.exec_mut(id).map(|_| Err(failed(UpdateReason::Error, None)));
        };
        if self.graph(graph)?.owner.is_some() {
            return Err(Error::InvalidValue);
        }
        let steps = &mut self.exec_mut(id)?.steps;
        if let Err(failure) = compare(steps, &new) {
            return Ok(Err(failure));
        }
        replace(steps, new);
        Ok(Ok(()))
    }
}

fn compare(old: &[Step], new: &[Step]) -> std::result::Result<(), UpdateFailure> {
    if old.len() != new.len() {
        return Err(failed(UpdateReason::Topology, None));
    }
    for (before, after) in old.iter().zip(new) {
        let node = Some(after.node);
        if before.waits_for != after.waits_for {
            return Err(failed(UpdateReason::Topology, node));
        }
        if before.work.number() != after.work.number() {
            return Err(failed(UpdateReason::NodeType, node));
        }
        compare_work(&before.work, &after.work).map_err(|reason| failed(reason, node))?;
        if before.parts.len() != after.parts.len() {
            return Err(failed(UpdateReason::Parameters, node));
        }
        for (before, after) in before.parts.iter().zip(&after.parts) {
            compare(before, after)?;
        }
    }
    Ok(())
}

fn compare_work(old: &Work, new: &Work) -> std::result::Result<(), UpdateReason> {
    match (old, new) {
        // The addresses of allocations are their graph's own.
        (Work::Alloc(_), _) if old != new => Err(UpdateReason::NotSupported),
        (Work::Free(_), _) if old != new => Err(UpdateReason::NotSupported),
        (Work::Conditional(old), Work::Conditional(new)) if old.kind != new.kind => {
            Err(UpdateReason::Parameters)
        }
        // Documented: of a fill in two dimensions only the address and the value may change.
        (Work::Fill(old), Work::Fill(new))
            if old.height.max(new.height) > 1
                && (old.width, old.height, old.pitch, old.element)
                    != (new.width, new.height, new.pitch, new.element) =>
        {
            Err(UpdateReason::Parameters)
        }
        _ => Ok(()),
    }
}

fn replace(old: &mut [Step], new: Vec<Step>) {
    for (before, after) in old.iter_mut().zip(new) {
        if can_change(&after.work) {
            before.work = after.work;
        }
        for (before, after) in before.parts.iter_mut().zip(after.parts) {
            replace(before, after);
        }
    }
}
