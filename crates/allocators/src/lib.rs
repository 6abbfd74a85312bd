//! Allocation policies, and the replay of a run through one.
//!
//! A [`Policy`] is pure arithmetic over a [`Device`]; the same code can serve a live allocator.

pub mod catalogue;
pub mod device;
pub mod exactness;
mod iterations;
pub mod policies;
pub mod policy;
mod releases;
pub mod replay;
pub mod simulated;
mod size_bins;
pub mod validator;
pub mod workload;

pub use device::{Device, Handle, PAGE};
pub use iterations::whole_iterations;
pub use policy::{ALIGNMENT, BlockId, Grant, OutOfMemory, Policy, Request};
pub use simulated::SimulatedDevice;
