//! The contract of whyoom: the events that every source emits and everything else reads.
//!
//! A source (an importer, the recorder, the node's monitor, a replay) fills [`Tables`] with what
//! repeats and pushes [`Event`]s into an [`EventSink`]. Events are complete in themselves and come
//! in order, so that whatever reads them can do so in one pass, at any length.

mod driver_calls;
mod event;
pub mod facts;
mod ids;
pub mod lines;
mod module;
pub mod pool_interface;
mod sink;
mod software;
mod tables;

pub use driver_calls::driver_call_purpose;
pub use event::{
    Action, Counter, Event, Limit, MarkKind, MemoryKind, Origin, ProcessState, SegmentGrowth,
    SizeClass, Symptom, SyncScope,
};
pub use ids::{
    Address, Bytes, ContextId, DeviceId, FrameId, HandleId, PoolId, ProcessId, ResultCode, StackId,
    StreamId, StringId, ThreadId, Time,
};
pub use module::{InModule, MODULE_FILE, ModuleRole};
pub use sink::EventSink;
pub use software::Software;
pub use tables::{Frame, FrameText, Tables};
