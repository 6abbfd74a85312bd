//! What the cases come to together.

use harness::score::{BYTES_BAR, Case, Part, SETS};

use super::row::Row;

/// Figures of a set, or of all.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) cases: usize,
    /// Cases whose primary cause is right.
    pub(super) right: usize,
    pub(super) healthy: usize,
    /// Healthy cases that something else was said of than that nothing is wrong, or cannot be told.
    pub(super) alarms: usize,
    /// Cases with advice that is wrong or missing.
    pub(super) advice: usize,
    /// Cases whose bytes are known, and those in which they are right.
    pub(super) bytes: (usize, usize),
    /// Cases whose printed line a machine can apply, and those in which it worked.
    pub(super) printed: (usize, usize),
    /// Cases whose own fix was applied: a check of their truth.
    pub(super) truths: usize,
    pub(super) seconds: f64,
}

impl Figures {
    /// Of those cases.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Row>) -> Self {
        all.fold(Self::default(), |mut figures, row| {
            figures.add(row);
            figures
        })
    }

    fn add(&mut self, row: &Row) {
        self.cases += 1;
        self.right += usize::from(row.cause_is_right());
        self.healthy += usize::from(row.case.is_healthy());
        self.alarms += usize::from(is_alarm(&row.case, row.cause()));
        self.seconds += row.seconds;
        if let Some(worked) = row.line_worked() {
            self.printed.0 += 1;
            self.printed.1 += usize::from(worked);
        }
        let Some(scored) = &row.scored else { return };
        self.advice += usize::from(scored.grade.faults.contains_key(&Part::Advice));
        self.truths += usize::from(scored.truth_checked);
        if let Some(off) = scored.grade.bytes_off {
            self.bytes.0 += 1;
            self.bytes.1 += usize::from(off <= BYTES_BAR);
        }
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
            self.advice.to_string(),
            format!("{} of {}", self.alarms, self.healthy),
            of(self.printed),
            self.truths.to_string(),
            format!("{:.0} s", self.seconds),
        ]
    }
}

/// The columns of [`Figures::row`].
pub(super) const COLUMNS: [&str; 8] = [
    "set",
    "primary cause right",
    "bytes within 5 %",
    "wrong or missing advice",
    "false alarms",
    "printed lines that worked",
    "truths checked by the author's fix",
    "seconds",
];

/// Whether something was said to be wrong where nothing is.
fn is_alarm(case: &Case, said: &str) -> bool {
    case.is_healthy() && said != "healthy" && said != "unknown"
}

/// In one sentence.
pub(super) fn summary(rows: &[Row]) -> String {
    let share = |set: &str| {
        let figures = Figures::of(rows.iter().filter(|row| row.case.set == set));
        format!("{} of {} ({set})", figures.right, figures.cases)
    };
    let all = Figures::of(rows.iter());
    format!(
        "on cases that the rules have met, primary cause right in {}; {} false alarms; {} of {} printed lines \
         that a machine can apply worked",
        SETS.iter().map(|set| share(set)).collect::<Vec<_>>().join(", "),
        all.alarms,
        all.printed.1,
        all.printed.0,
    )
}
