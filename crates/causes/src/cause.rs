//! What a cause is.

use crate::{diagnosis::Diagnosis, finding::Finding};

/// Something that can be true of a run.
#[derive(Debug)]
pub struct Cause {
    /// Its name, for people and programs.
    pub id: &'static str,
    /// What is true when it is the cause, in one line.
    pub title: &'static str,
    /// What it is in general: what it looks like, why it happens, what helps.
    pub explanation: &'static str,
    /// Whether it is true of this diagnosis.
    pub check: fn(&Diagnosis<'_>) -> Option<Finding>,
}
