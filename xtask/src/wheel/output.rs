//! What commands print that are run beside the wheel.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What a command prints; its errors where it fails.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}{errors}");
    Ok(said)
}
