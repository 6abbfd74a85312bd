//! `whyoom doctor`.

use std::{io::Write, process::Command};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use whyoom_doctor::{CHECKS, Report, examine, take_memory};

use crate::{arguments::DoctorArguments, executable, exit_status::ANSWERED};

/// The check that is no check: the program that others record.
const TAKE: &str = "take";

pub(crate) fn run(arguments: &DoctorArguments) -> Result<u8> {
    match &arguments.check {
        Some(name) => one(name)?,
        None => all(arguments)?,
    }
    Ok(ANSWERED)
}

/// Makes a check in this process, and prints what it found.
fn one(name: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if name == TAKE {
        return Ok(writeln!(out, "{}", take_memory())?);
    }
    let check = CHECKS.iter().find(|check| check.name == name).context("there is no such check")?;
    Ok(writeln!(out, "{}", serde_json::to_string(&(check.run)())?)?)
}

fn all(arguments: &DoctorArguments) -> Result<()> {
    let own = executable::own()?;
    let mut checks = Vec::new();
    let wanted = CHECKS.iter().filter(|check| arguments.full || !check.takes_all);
    let progress = ProgressBar::new(wanted.clone().count() as u64);
    for check in wanted {
        progress.inc(1);
        let mut command = Command::new(&own);
        command.args(["doctor", "--check", check.name]);
        checks.push(examine(check.name, check.limit, command));
    }
    progress.finish_and_clear();
    let report = Report::new(checks);
    let mut out = anstream::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        report.write(&mut out)?;
    }
    Ok(())
}
