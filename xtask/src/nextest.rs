//! Checks of `tests/suites`, run by nextest.

use std::process::Command;

use anyhow::{Result, ensure};
use harness::{Build, Fingerprints, Outcome, Report, ReportFolder, read_reports, root, scratch};

/// Which earlier results a run of checks may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Results of checks, and recordings.
    ResultsAndRecordings,
    /// Recordings only: each check that is asked for runs.
    Recordings,
}

/// Runs the checks that a filter of nextest names, and reads what they reported. What failed is among the
/// reports, or was ended before it could report: then this is an error.
pub(crate) fn reports(
    filter: &str,
    variables: &[(&str, &str)],
    reuse: Reuse,
) -> Result<Vec<Report>> {
    let folder = ReportFolder::create(scratch("reports")?.join(std::process::id().to_string()))?;
    let fingerprints = Fingerprints::compute()?;
    let build = Build::ready()?;
    // Fingerprints are of this checkout. Binaries that somebody names, or that were built while a file was edited, are
    // not.
    if !Build::is_given() && Fingerprints::compute()? == fingerprints {
        match reuse {
            Reuse::ResultsAndRecordings => fingerprints.write(&folder)?,
            Reuse::Recordings => fingerprints.without_results().write(&folder)?,
        }
    }
    let mut nextest = Command::new(env!("CARGO"));
    nextest.args(["nextest", "run", "--profile", "suites"]);
    nextest.args(["--cargo-profile", "checks", "--cargo-quiet"]);
    nextest.args(["--package", "whyoom-tests", "--test", "suites", "-E", filter]);
    nextest.env(Build::VARIABLE, build.folder()).envs(variables.iter().copied());
    // Where `whyoom run` registers recordings. They are kept for later runs, so the register is kept with them.
    nextest.env("XDG_STATE_HOME", scratch("state")?);
    let (name, value) = folder.variable();
    let status = nextest.env(name, value).current_dir(root()).status()?;
    let reports = read_reports(&folder)?;
    folder.remove()?;
    let failed = reports.iter().any(|report| matches!(report.outcome, Outcome::Failed { .. }));
    ensure!(status.success() || failed, "no check was run, or one could not report ({status})");
    ensure!(!reports.is_empty(), "no check was run");
    Ok(reports)
}
