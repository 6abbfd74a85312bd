//! Files on a machine that other people use too.
//!
//! - [`untrusted`] opens what whyoom did not create itself: nothing that it opens can make it wait, follow a
//!   link, or hold more than it asked for.
//! - [`named`] opens what a person named on the command line, a pipe too.
//! - [`private`] makes what nobody else may read or change.
//! - [`kernel`] reads `/proc` and `/sys`.
//!
//! Everything else that reads a file by name is refused by clippy (`clippy.toml`).
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod kernel;
pub mod named;
pub mod private;
pub mod untrusted;
