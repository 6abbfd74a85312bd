//! How a part is written.

/// How a part is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The length of a segment, rounded up to blocks of 16 KiB. Each thread that records has one; a
    /// thread's first segments are shorter, so that threads that record little take little.
    pub segment_bytes: u32,
    /// Ring mode: the most that a part's segments may take; the oldest are dropped. Each thread
    /// that records keeps the segment that it writes, and definitions are kept, whatever the limit.
    pub limit: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 1 << 20, limit: None }
    }
}
