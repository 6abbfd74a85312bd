//! A case, and what came of it.

use harness::score::{Case, Printed, Scored};

/// A case with what came of it.
pub(super) struct Row {
    pub(super) case: Case,
    /// Absent where it could not be tried.
    pub(super) scored: Option<Scored>,
    /// Why it is not as it should be.
    pub(super) failed: Option<String>,
    pub(super) seconds: f64,
}

impl Row {
    /// The cause that was named.
    pub(super) fn cause(&self) -> &str {
        self.scored.as_ref().map_or("(failed)", |scored| &scored.answer.cause)
    }

    pub(super) fn cause_is_right(&self) -> bool {
        self.scored.as_ref().is_some_and(|scored| scored.grade.cause_is_right())
    }

    /// Whether nothing at all is missed.
    pub(super) fn is_right(&self) -> bool {
        self.scored.as_ref().is_some_and(|scored| scored.grade.faults.is_empty())
    }

    /// What came of the line that was printed, where a machine could apply it.
    pub(super) fn line_worked(&self) -> Option<bool> {
        match self.scored.as_ref()?.printed {
            Printed::None => None,
            Printed::Worked { .. } => Some(true),
            Printed::Failed { .. } => Some(false),
        }
    }
}
