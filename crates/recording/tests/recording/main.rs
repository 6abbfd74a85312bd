//! Recordings, written and read through the crate's own interface.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod common;
mod follow;
mod fork;
mod live;
mod model;
mod old;
mod ring;
mod round_trip;
mod salvage;
