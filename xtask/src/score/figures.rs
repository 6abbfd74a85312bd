//! What the cases come to together.

use std::time::Duration;

use super::{Scored, case::Case};

/// Figures of a set, or of all.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) cases: usize,
    /// Cases whose primary cause is right.
    pub(super) right: usize,
    pub(super) healthy: usize,
    /// Healthy cases that something else was said of than that nothing is wrong, or cannot be told.
    pub(super) alarms: usize,
    /// Cases with advice that must not be given.
    pub(super) wrong: usize,
    /// Cases that lack advice that must be given.
    pub(super) missing: usize,
    /// Cases whose bytes are known, and those in which they are right.
    pub(super) bytes: (usize, usize),
    /// Cases whose remedy was applied, and those in which it worked.
    pub(super) applied: (usize, usize),
    pub(super) time: Duration,
}

impl Figures {
    /// Of those cases.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Scored>) -> Self {
        all.fold(Self::default(), |mut figures, scored| {
            figures.add(scored);
            figures
        })
    }

    fn add(&mut self, scored: &Scored) {
        let (case, grade) = (&scored.case, &scored.grade);
        self.cases += 1;
        self.right += usize::from(grade.cause);
        self.healthy += usize::from(case.is_healthy());
        self.alarms += usize::from(is_alarm(case, scored.cause()));
        self.wrong += usize::from(!grade.wrong.is_empty());
        self.missing += usize::from(grade.cause && !grade.missing.is_empty());
        // What another cause would give back is no measure of this one.
        if grade.cause && grade.bytes_off.is_some() {
            self.bytes.0 += 1;
            self.bytes.1 += usize::from(grade.bytes_are_right());
        }
        if let Some(worked) = scored.worked() {
            self.applied.0 += 1;
            self.applied.1 += usize::from(worked);
        }
        self.time += scored.time();
    }

    /// The share of cases whose primary cause is right.
    pub(super) fn accuracy(&self) -> f64 {
        self.right as f64 / self.cases.max(1) as f64
    }

    /// As a row of a table.
    pub(super) fn row(&self, name: &str) -> [String; 8] {
        let of = |(all, good): (usize, usize)| format!("{good} of {all}");
        [
            name.to_owned(),
            format!("{} of {} ({:.1} %)", self.right, self.cases, self.accuracy() * 100.0),
            of(self.bytes),
            self.wrong.to_string(),
            self.missing.to_string(),
            format!("{} of {}", self.alarms, self.healthy),
            of(self.applied),
            format!("{:.0} s", self.time.as_secs_f64()),
        ]
    }
}

/// The columns of [`Figures::row`].
pub(super) const COLUMNS: [&str; 8] = [
    "set",
    "primary cause right",
    "bytes within 5 %",
    "wrong advice",
    "advice missing",
    "false alarms",
    "remedy applied and worked",
    "processor-seconds",
];

/// Whether something was said to be wrong where nothing is.
fn is_alarm(case: &Case, said: &str) -> bool {
    case.is_healthy() && said != "healthy" && said != "unknown"
}
