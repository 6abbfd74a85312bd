//! What one node of a graph waits for.

use super::ids::NodeId;

/// A node that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The node.
    pub node: NodeId,
    /// What the API calls edge data: ports and a type, kept and given back.
    pub data: [u8; 8],
}

impl Edge {
    /// The common kind: all of the node must be finished.
    #[must_use]
    pub fn plain(node: NodeId) -> Self {
        Self { node, data: [0; 8] }
    }
}
