//! An executable graph.

use std::collections::HashMap;

use super::{
    ids::{NodeId, ObjectId},
    work::Work,
};
use crate::timeline::Stamp;

/// The flags of an instantiation, as the API numbers them.
pub type InstantiateFlags = u64;

/// An executable graph.
pub(crate) struct Exec {
    pub(crate) steps: Vec<Step>,
    pub(crate) flags: InstantiateFlags,
    /// The addresses of its allocations.
    pub(crate) spaces: Vec<u64>,
    /// The device that its nodes take memory of, and how many bytes.
    pub(crate) charged: (usize, u64),
    pub(crate) objects: HashMap<ObjectId, u32>,
    pub(crate) number: u32,
    /// The end of its last launch.
    pub(crate) last: Option<Stamp>,
}

impl Step {
    /// Returns the number of nodes in these steps, those of their parts included.
    pub(crate) fn count(steps: &[Self]) -> u64 {
        steps
            .iter()
            .flat_map(|step| &step.parts)
            .fold(steps.len() as u64, |count, part| count + Self::count(part))
    }
}

/// A node of an executable graph.
pub(crate) struct Step {
    pub(crate) node: NodeId,
    pub(crate) work: Work,
    /// The steps before it that it waits for.
    pub(crate) waits_for: Vec<usize>,
    /// The graphs that it is made of.
    pub(crate) parts: Vec<Vec<Step>>,
    pub(crate) enabled: bool,
}
