//! Commands that must succeed, and whose last words tell why they did not.

use std::process::Command;

use anyhow::{Result, ensure};

/// Runs a command and returns an error with what it said if it failed.
pub(super) fn succeeds(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", said.lines().last().unwrap_or("it failed"));
    Ok(())
}
