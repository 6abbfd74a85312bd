//! The agent of a node: finds where programs ran out of GPU memory, asks `whyoom` why, and puts the incidents
//! where the site wants them.
//!
//! ```text
//! logs ─────┐            ┌→ judge (whyoom why, who, replay: processes of their own) ─→ redaction
//! dropped ──┴→ found ────┘                                                              │
//!            OTLP ←── metrics ←────────────────────────────── journal (on disk) ←───────┘
//!                                                               └→ upload → archive
//! ```
//!
//! An incident is acknowledged when it is in the [`journal`]. From there it reaches the archive exactly once:
//! the journal's files have numbers, and a file's number is the object's name.
//!
//! Nothing of what programs wrote is parsed in this process but the frames of log lines: judging is done by
//! `whyoom` itself, in processes with limits.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod agent;
mod drops;
mod guard;
pub mod journal;
mod judging;
mod ledger;
mod metrics;
mod otlp;
mod redaction;
mod serve;
mod settings;
mod state;
mod telling;
mod textfile;
mod upload;

pub use agent::{AgentError, run, run_once};
pub use otlp::Headers;
pub use settings::{Settings, SettingsError};
