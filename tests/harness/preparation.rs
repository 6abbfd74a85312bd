//! Commands that prepare a check.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Runs a command that belongs to the preparation.
pub fn must_succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
