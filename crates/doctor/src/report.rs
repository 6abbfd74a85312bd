//! All checks of a machine, for people and as a file to send.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, Status};

/// A check that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Which.
    pub name: String,
    /// How long it took.
    pub seconds: f64,
    /// What it found.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// All checks of a machine. There is no path, host name or command line of others in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `whyoom.doctor`.
    pub schema: String,
    /// Of the schema.
    pub version: u32,
    /// Of whyoom.
    pub whyoom: String,
    /// In the order in which they were made.
    pub checks: Vec<Checked>,
}

impl Report {
    /// Of the checks that were made.
    #[must_use]
    pub fn new(checks: Vec<Checked>) -> Self {
        let whyoom = env!("CARGO_PKG_VERSION").to_owned();
        Self { schema: "whyoom.doctor".to_owned(), version: 1, whyoom, checks }
    }

    /// A line a check, then what follows from what is not as usual.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for check in &self.checks {
            let Checked { name, outcome, .. } = check;
            let mut lines = outcome.found.iter();
            let first = lines.next().map_or("", String::as_str);
            writeln!(out, "{name:<9} {:<9} {first}", outcome.status)?;
            for line in lines {
                writeln!(out, "{:19} {line}", "")?;
            }
        }
        let unusual = self.checks.iter().filter(|check| !check.outcome.means.is_empty());
        for (place, check) in unusual.enumerate() {
            if place == 0 {
                writeln!(out, "\nWhat this means")?;
            }
            for means in &check.outcome.means {
                writeln!(out, "  {}: {means}", check.name)?;
            }
        }
        let is = |status: Status| move |check: &&Checked| check.outcome.status == status;
        let count = |status| self.checks.iter().filter(is(status)).count();
        let ran = self.checks.len() - count(Status::NotRun);
        let ok = count(Status::Ok);
        let passed = count(Status::NotRun);
        writeln!(
            out,
            "\n{ok} of {ran} checks are as on a plain system; {passed} could not be made."
        )
    }
}
