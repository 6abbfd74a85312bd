//! Recordings, written and read through the crate's own interface.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod common;
mod fork;
mod live;
mod model;
mod old;
mod ring;
mod round_trip;
mod salvage;
