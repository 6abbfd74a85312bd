//! Sums over one layer of memory at one instant.

use serde::{Deserialize, Serialize};
use whyoom_trace::Bytes;

/// Sums over one layer at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// What is held: by the allocator or, of driver memory, by the process.
    pub reserved: Bytes,
    /// What of it was given to the program.
    pub allocated: Bytes,
    /// That, and what waits for a stream before it is free.
    pub active: Bytes,
    /// What the program asked for.
    pub requested: Bytes,
    /// Blocks that are active.
    pub blocks: u64,
    /// Segments.
    pub segments: u64,
}
