//! What came of a case.

use serde::{Deserialize, Serialize};

use super::{answer::Answer, grade::Grade, printed::Printed};

/// A case with what came of it, as the figures are made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scored {
    /// The case's name.
    pub case: String,
    /// What was said.
    pub answer: Answer,
    /// How right that was.
    pub grade: Grade,
    /// What came of the line that was printed.
    pub printed: Printed,
    /// Whether the table's own fix was applied: a check that its truth is true.
    pub truth_checked: bool,
    /// Programs that were run and recorded for this case.
    pub recorded: u64,
    /// Recordings of earlier runs that were judged again, because nothing that they are made of has changed.
    pub recordings_reused: u64,
    /// What can be judged again, for people to read.
    pub judged: Vec<String>,
}
