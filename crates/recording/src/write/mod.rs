//! The writing side: a process's own part of a recording.

mod fork;
mod lease;
mod part;
mod path;
mod ring;
mod segment;
mod shared;
mod stop;
mod tables;

pub use fork::ForkGuard;
pub use lease::Lease;
pub use part::{Options, Part};
pub use stop::Stop;
