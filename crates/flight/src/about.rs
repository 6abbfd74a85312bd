//! What a model was made from.

use serde::{Deserialize, Serialize};

use crate::watching::Watching;

/// What a model was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// When, in nanoseconds since 1970.
    pub time: u64,
    pub(crate) by: Watching,
    /// Whether the run has ended and all that was written of it is in the model.
    pub finished: bool,
    /// How many events that were, as they were recorded.
    pub events: u64,
    /// Events that ring mode dropped before they were read.
    pub dropped_unseen: u64,
    /// What is worth saying of it: what is missing, in words.
    pub notes: Vec<String>,
}
