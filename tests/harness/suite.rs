//! Checks as tests that nextest lists, filters, times and runs.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Result, anyhow};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde::Serialize;
use serde_json::Value;

use crate::{
    outcome::{Held, Outcome},
    report::{Report, ReportFolder},
    reuse::{keep_report, kept_report},
};

/// How it ended, and what a page is made of.
type Ended = (Result<Held>, Option<Value>);
type Run = Box<dyn FnOnce() -> Ended + Send>;

/// One check.
pub struct Check {
    /// `PART`, or `PART::CASE`.
    name: String,
    run: Run,
}

impl Check {
    /// What is run, and how it is called.
    pub fn new(
        name: impl Into<String>,
        run: impl FnOnce() -> Result<Held> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), run: Box::new(|| (run(), None)) }
    }

    /// The same, with what a page is made of, whether the check holds or not.
    pub fn with_data<T: Serialize>(
        name: impl Into<String>,
        run: impl FnOnce() -> Result<(Result<Held>, T)> + Send + 'static,
    ) -> Self {
        let run = || match run() {
            Err(error) => (Err(error), None),
            Ok((held, data)) => match serde_json::to_value(data) {
                Ok(data) => (held, Some(data)),
                Err(error) => (Err(error.into()), None),
            },
        };
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// Checks that belong together.
pub struct Suite {
    /// What its checks' names begin with.
    pub name: &'static str,
    /// Its checks.
    pub checks: fn() -> Result<Vec<Check>>,
}

/// Words as a case's name: in small letters, with dashes between.
#[must_use]
pub fn slug(words: &str) -> String {
    let words = words.to_lowercase();
    let parts = words.split(|letter: char| !letter.is_alphanumeric() && !"_.".contains(letter));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Runs the checks that are asked for.
#[must_use]
pub fn main(suites: &[Suite]) -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for suite in suites {
        match (suite.checks)() {
            Ok(checks) => trials.extend(checks.into_iter().map(|check| trial(suite.name, check))),
            Err(error) => {
                eprintln!("{}: {error:#}", suite.name);
                return ExitCode::FAILURE;
            }
        }
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = trials.iter().find(|trial| !names.insert(trial.name())) {
        eprintln!("two checks are called {}", twice.name());
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a check.
fn report_of(name: String, run: Run) -> Report {
    let started = Instant::now();
    let ended = catch_unwind(AssertUnwindSafe(run));
    let (result, data) = ended.unwrap_or_else(|_| (Err(anyhow!("it panicked")), None));
    let (outcome, seconds) = (Outcome::from(result), started.elapsed().as_secs_f64());
    Report { name, outcome, seconds, data, reused: false }
}

/// Writes the report for the command that asked for the check, and keeps it for later runs.
fn write_report(suite: &str, report: &Report) -> Result<()> {
    let Some(folder) = ReportFolder::of_this_run() else { return Ok(()) };
    folder.write(report)?;
    if report.reused { Ok(()) } else { keep_report(suite, report) }
}

fn trial(suite: &'static str, check: Check) -> Trial {
    let name = format!("{suite}::{}", check.name);
    let Check { run, .. } = check;
    Trial::ignorable_test(name.clone(), move || {
        let report = kept_report(suite, &name).unwrap_or_else(|| report_of(name, run));
        write_report(suite, &report).map_err(|error| Failed::from(format!("{error:#}")))?;
        match report.outcome {
            Outcome::Held(held) => {
                println!("{}", held.figure);
                Ok(Completion::Completed)
            }
            Outcome::Skipped { why } => Ok(Completion::ignored_with(why)),
            Outcome::Failed { why } => Err(why.into()),
        }
    })
}
