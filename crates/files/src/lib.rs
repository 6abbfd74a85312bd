//! Files on a machine that other people use too.
//!
//! - [`untrusted`] opens what whyoom did not create itself: nothing that it opens can make it wait, follow a
//!   link, or hold more than it asked for.
//! - [`named`] opens what a person named on the command line, a pipe too.
//! - `below` (Linux) reads, writes and removes files below a folder that others write to, by its descriptor.
//! - `held` (Linux) removes what is in a folder of our own, by its descriptor.
//! - [`private`] makes what nobody else may read or change.
//! - [`temporary`] names the folder for temporary files.
//! - [`folder`] is a folder of files on a disk or in memory.
//! - [`kernel`] reads `/proc` and `/sys`.
//!
//! Everything else that reads a file by name is refused by clippy (`clippy.toml`).
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(target_os = "linux")]
pub mod below;
pub mod folder;
#[cfg(target_os = "linux")]
pub mod held;
pub mod kernel;
#[cfg(target_os = "linux")]
mod linux;
pub mod named;
pub mod private;
mod system;
pub mod temporary;
pub mod untrusted;
