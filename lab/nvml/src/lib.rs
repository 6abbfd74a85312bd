//! The simulated GPU's `libnvidia-ml.so.1`: the documented functions of NVML, answered from the
//! machine that the processes of a lab share.
//!
//! What the lab knows (devices, memory, who holds it) is answered; what a device that computes
//! nothing cannot have (a fan, a performance state, energy) is refused as not supported, which
//! monitors show as not available. Temperature and power draw are assumed, those of an idle board.

mod activity;
mod clocks;
mod description;
mod device;
mod devices;
mod error_text;
mod links;
mod memory;
mod modes;
mod parts;
mod process_list;
mod processes;
mod refused;
mod sensors;
mod session;
mod status;
mod system;
