//! The simulated `libcuda.so.1`: documented functions of the driver API, thin over `lab/core`.
//!
//! A family of functions is a file. Loading the library does nothing; `cuInit` does.

mod attributes;
mod callbacks;
mod captures;
mod contexts;
mod copies;
mod devices;
mod entry;
mod events;
mod graphs;
mod host_memory;
mod ipc;
mod launches;
mod libraries;
mod memory;
mod modules;
mod names;
mod pointers;
mod pools;
mod process;
mod refused;
mod status;
mod streams;
mod virtual_memory;
