//! Checks as tests that nextest lists, filters, times and runs.

use std::{
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
};

type Run = Box<dyn FnOnce() -> Result<(Held, Option<Value>)> + Send>;

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
        Self { name: name.into(), run: Box::new(|| Ok((run()?, None))) }
    }

    /// The same, with what a page is made of.
    pub fn with_data<T: Serialize>(
        name: impl Into<String>,
        run: impl FnOnce() -> Result<(Held, T)> + Send + 'static,
    ) -> Self {
        let run = || {
            let (held, data) = run()?;
            Ok((held, Some(serde_json::to_value(data)?)))
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
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(suite: &str, check: Check) -> Trial {
    let name = format!("{suite}::{}", check.name);
    let Check { run, .. } = check;
    Trial::ignorable_test(name.clone(), move || {
        let started = Instant::now();
        let result =
            catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(anyhow!("it panicked")));
        let (result, data) = match result {
            Ok((held, data)) => (Ok(held), data),
            Err(error) => (Err(error), None),
        };
        let outcome = Outcome::from(result);
        let seconds = started.elapsed().as_secs_f64();
        if let Some(folder) = ReportFolder::of_this_run() {
            let report = Report { name, outcome: outcome.clone(), seconds, data };
            folder.write(&report).map_err(|error| Failed::from(format!("{error:#}")))?;
        }
        match outcome {
            Outcome::Held(held) => {
                println!("{}", held.figure);
                Ok(Completion::Completed)
            }
            Outcome::Skipped { why } => Ok(Completion::ignored_with(why)),
            Outcome::Failed { why } => Err(why.into()),
        }
    })
}
