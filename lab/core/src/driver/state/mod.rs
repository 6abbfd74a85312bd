//! What the driver of one process keeps. The types here know no call: the families of calls, beside
//! this folder, work on them through the [`Driver`](super::Driver) that owns them all.

mod allocation;
mod capture;
mod context;
mod device;
mod edge;
mod event;
mod exec;
mod graph;
mod ids;
mod ipc;
mod module;
mod physical;
mod work;

pub use self::{
    allocation::{Allocation, AllocationKind, ArrayShape},
    capture::CaptureMode,
    context::Limit,
    edge::Edge,
    exec::InstantiateFlags,
    ids::{
        ContextId, EventId, ExecId, FunctionId, GraphId, HandleId, ModuleId, NodeId, ObjectId,
        PoolId,
    },
    ipc::IpcHandle,
    module::Launch,
    physical::Physical,
    work::{Box3, Conditional, Fill, GraphAllocation, HostCall, Side, Work},
};
pub(super) use self::{
    capture::{Capture, Captures, Ends},
    context::Context,
    device::Device,
    event::{Captured, Event, SharedMoment},
    exec::{Exec, Step},
    graph::{Graph, GraphSpace, Graphs, Node, UserObject},
    ipc::{Export, Import, Ipc, Moments},
    module::{Function, Module},
    physical::{FileOf, Handle, Mapping},
};
