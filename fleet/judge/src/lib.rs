//! Asks `whyoom`: why memory ran out, who holds it, what would have served the request that failed.
//!
//! What other people's programs wrote is never parsed in the process that asks: `whyoom` does that, as a process
//! of its own with limits.
//!
//! - [`Judge`] asks, and reads the answers' documents;
//! - `asking` runs it with little memory, little time, and after everybody else.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod asking;
mod judge;

pub use judge::{CallSite, Judge, Judged, Matter, Remedy, Request, Verdict};
