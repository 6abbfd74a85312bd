//! What was measured of a GPU.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The figures of one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredGpu {
    /// The model's name, as the driver tells it.
    pub name: String,
    /// Whether the GPU was simulated: then the figures are the lab's own.
    pub simulated: bool,
    /// By the names that the table of models has for them, in bytes.
    pub figures: BTreeMap<String, u64>,
}
