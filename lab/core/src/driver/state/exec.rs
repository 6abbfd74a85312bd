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
    pub(crate) objects: HashMap<ObjectId, u32>,
    pub(crate) number: u32,
    /// The end of its last launch.
    pub(crate) last: Option<Stamp>,
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
