//! The recording on disk: written by the recorder, read by everything else.
//!
//! A recording is a folder. Each process writes a part of its own ([`Part`]): one `.part` file that
//! says who it is and how it stands, `.events` segments that threads lease ([`Lease`]), and `.tables`
//! pieces with what the events name by id ([`Definition`]). [`Recording`] reads it all in one pass,
//! [`LiveView`] watches a process while it runs, [`Follower`] reads
//! events while they are written.
//!
//! Every file is made to its full length (`fallocate`) before it is mapped and written, so that a full
//! disk is told when the next file is made, and never by a signal; a file that is cut under its map is
//! survived (`guard.rs`). What is written goes through shared
//! maps: a process that is killed at any instant leaves everything that it had committed, and that is
//! all but the record being written by each thread. No file descriptor stays open.
//!
//! Recordings are written, watched and followed on Linux. They are read anywhere, from a folder on a disk or
//! in memory ([`whyoom_files::folder::Folder`]).
//!
//! The format is specified byte by byte in `format.rs`.

// What only writers and watchers use has no use elsewhere.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

#[cfg(target_endian = "big")]
compile_error!("a recording is little endian, and so must be the machine that writes it");

#[cfg(target_os = "linux")]
mod clock;
mod definition;
mod format;
#[cfg(target_os = "linux")]
mod guard;
mod header;
mod identity;
mod live;
#[cfg(target_os = "linux")]
mod mapped;
mod read;
mod record;
#[cfg(target_os = "linux")]
mod watcher_sync;
#[cfg(target_os = "linux")]
mod write;

pub use definition::{Definition, RawFrame};
pub use format::{FILE_EXTENSIONS, PART_EXTENSION, PART_FILE_BYTES};
pub use live::{LIVE_DEVICES, LiveDevice, LiveTotals};
pub use read::{
    Ending, Losses, Module, OpenError, PartInfo, ReadError, Recording, Resolve, Unresolved,
};
#[cfg(target_os = "linux")]
pub use {
    clock::now,
    read::{Follower, LiveFigures, LiveView, Unseen},
    write::{ForkGuard, Lease, Options, Part, Stop},
};
