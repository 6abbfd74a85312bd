//! Logs of other people's programs, read as they are written: which out-of-memory messages are in them, and
//! whose.
//!
//! - [`Follower`] follows the files that patterns name, through rotation and restarts;
//! - `tail` reads one file and cuts out what stands around a message;
//! - `framing` takes what a container runtime puts around each line away;
//! - [`Journald`] makes logs of what the journal of systemd has;
//! - [`Origin`] tells from a path whose log it is.
//!
//! Whoever writes a log is not trusted: lines have any length, no link is followed below the folder that the
//! site named, and what is kept of a file is bounded.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod follow;
mod framing;
mod journald;
mod origin;
mod position;
mod shapes;
mod tail;
mod walk;

pub use follow::{Follower, Start};
pub use framing::decode;
pub use journald::Journald;
pub use origin::Origin;
pub use position::{FileId, Position, Positions};
pub use tail::Found;
pub use walk::{Entry, Named, Pattern, Wanted, open_folder_entry};

#[cfg(test)]
mod tests;
