//! Handles: the numbers by which the program names what the driver keeps for it.

/// A context's handle.
pub type ContextId = u64;
/// An event's handle.
pub type EventId = u64;
/// A module's handle.
pub type ModuleId = u64;
/// A function's handle.
pub type FunctionId = u64;
/// A pool's handle.
pub type PoolId = u64;
/// A handle of physical memory.
pub type HandleId = u64;
/// A graph's handle.
pub type GraphId = u64;
/// A node's handle.
pub type NodeId = u64;
/// An executable graph's handle.
pub type ExecId = u64;
/// A user object's handle.
pub type ObjectId = u64;
