//! The result of one part of the command.

/// Counts of one part, and what it found wrong.
pub(crate) struct Counted {
    /// The number of comparisons.
    pub(crate) compared: usize,
    /// The differences, one a line.
    pub(crate) wrong: Vec<String>,
}
