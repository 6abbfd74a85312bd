//! Processes that hold device memory.

use serde::{Deserialize, Serialize};
use whyoom_trace::{Bytes, ProcessState, StringId};

/// A process that was seen to hold device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its number, as the observer saw it.
    pub pid: u32,
    /// What it held.
    pub bytes: Bytes,
    /// What it is called; empty where nobody can tell.
    pub command: StringId,
    /// How it stands.
    pub standing: ProcessState,
}
