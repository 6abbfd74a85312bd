//! The vendor boundary of live code: what NVML answers, as plain data, and the CUDA driver's functions
//! ([`driver`]).
//!
//! NVML's library is loaded at run time: a machine without a driver gets a clear message, and what a
//! driver does not tell is `None`. Every answer can be saved and read back, so that whoever judges
//! it can be tested on captured answers.

mod device;
pub mod driver;
mod error;
mod gpus;
mod instances;
mod memory;
mod processes;
mod raw;

pub use device::{Device, Ecc, Memory, ProcessKind, ProcessUse, Silent, Utilization};
pub use error::GpuError;
pub use gpus::{Asked, Devices, Gpus};
