//! Runs a process with limits: so long, so much memory, so much output.
//!
//! What strangers wrote is never parsed in a process that has to go on: `whyoom` does that, as a process of its own
//! that [`run()`] watches.
#![forbid(unsafe_code)]

mod run;

pub use run::{Input, Limits, Printed, Stop, run};
