//! A point in a run.

use serde::{Deserialize, Serialize};
use whyoom_trace::Time;

/// A point in a run: what the clock said, and how many events had come by then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Instant {
    /// The time, where the source tells it.
    pub time: Time,
    /// The number of the event among all of the stream.
    pub event: u64,
}
