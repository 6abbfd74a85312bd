//! All checks of a machine, for people and as a file to send.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, Status};

/// The schema's name and version (docs/json.md).
pub(crate) const SCHEMA: &str = "whyoom.doctor";
pub(crate) const VERSION: u32 = 1;

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
        Self { schema: SCHEMA.to_owned(), version: VERSION, whyoom, checks }
    }

    /// The answer, a line a check, then what follows from what is not as usual.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}\n", self.headline())?;
        let longest = self.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
        for Checked { name, outcome, .. } in &self.checks {
            let mut lines = outcome.found.iter();
            let first = lines.next().map_or("", String::as_str);
            writeln!(out, "{name:<longest$}  {:<9} {first}", outcome.status)?;
            for line in lines {
                writeln!(out, "{:longest$}  {:9} {line}", "", "")?;
            }
        }
        let unusual: Vec<&Checked> = self.unusual().collect();
        if !unusual.is_empty() {
            writeln!(out, "\nWhat this means")?;
        }
        for check in unusual {
            for means in &check.outcome.means {
                writeln!(out, "  {}: {means}", check.name)?;
            }
        }
        Ok(())
    }

    /// The answer in one line: what does not work, or else how much is as usual.
    fn headline(&self) -> String {
        let failed = |check: &&Checked| {
            matches!(check.outcome.status, Status::Failed | Status::TimedOut | Status::Killed)
        };
        if let Some(failed) = self.unusual().find(failed) {
            return failed.outcome.means.first().cloned().unwrap_or_default();
        }
        let made = |check: &&Checked| check.outcome.status != Status::NotRun;
        let made = self.checks.iter().filter(made).count();
        let passed = match self.checks.len() - made {
            0 => String::new(),
            passed => format!("; {passed} could not be made"),
        };
        match self.unusual().count() {
            0 => format!("whyoom works here as on a plain system: {made} checks{passed}."),
            differ => format!(
                "whyoom works here; {differ} of {made} checks differ from a plain system{passed}."
            ),
        }
    }

    /// The checks that something follows from.
    fn unusual(&self) -> impl Iterator<Item = &Checked> {
        self.checks.iter().filter(|check| !check.outcome.means.is_empty())
    }
}
