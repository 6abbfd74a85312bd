//! Allocation policies, and the replay of a run through one.
//!
//! A [`Policy`] is pure arithmetic over a [`Device`]; the same code can serve a live allocator.

pub mod catalogue;
mod device;
pub mod exactness;
mod iterations;
pub mod policies;
mod policy;
mod releases;
mod replay;
mod simulated;
mod size_bins;
mod step;
mod validator;
mod workload;

pub use device::{Device, Handle, PAGE};
pub use iterations::{GoingOn, needed_to_go_on, whole_iterations};
pub use policy::{ALIGNMENT, BlockId, Grant, OutOfMemory, Policy, Request};
pub use replay::{Outcome, Settled, replay, replay_checked, replay_loop};
pub use simulated::{CallCosts, SimulatedDevice};
pub use step::{Item, Segment, Step};
pub use validator::{Validator, Violation};
pub use workload::{Run, Workload, Workloads};
