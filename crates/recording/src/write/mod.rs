//! The writing side: a process's own part of a recording.

mod fork;
mod identity;
mod lease;
mod options;
mod part;
mod path;
mod ring;
mod segment;
mod shared;
mod stop;
mod tables;

pub use fork::ForkGuard;
pub use lease::Lease;
pub use options::Options;
pub use part::Part;
pub use stop::Stop;
