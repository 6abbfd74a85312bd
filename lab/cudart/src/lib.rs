//! The simulated `libcudart`: the documented runtime API, translated onto the driver API.
//!
//! It simulates nothing itself and keeps only what a runtime must: the device and the last error of
//! each thread, the device code that programs register, and pending launch configurations. It
//! reaches its driver on the same road as the genuine runtime (see `driver`), so whoever watches
//! that road sees what they would see on a real machine. Loading the library does nothing.
//!
//! These files are two libraries: the package beside them is `libcudart.so.13`, and
//! `whyoom-lab-cudart12`, whose build script sets `cuda12`, is `libcudart.so.12`. What the two have
//! in different forms is in modules called `thirteen` and `twelve`, and nowhere else.

mod array;
mod context;
mod copy;
mod copy_blocks;
mod device;
mod device_settings;
mod driver;
mod entry_point;
mod error;
mod error_names;
mod event;
mod function;
mod graph;
mod host_memory;
mod ipc;
mod launch;
mod launch_configuration;
mod library;
mod memory;
mod memory_set;
mod occupancy;
mod peer;
mod pointer;
mod pool;
mod profiler;
mod properties;
mod registration;
mod registry;
mod stream;
mod symbol;
mod unified;

#[cfg(not(cuda12))]
mod thirteen;
#[cfg(cuda12)]
mod twelve;

#[cfg(not(cuda12))]
use thirteen::RUNTIME_VERSION;
#[cfg(cuda12)]
use twelve::RUNTIME_VERSION;
