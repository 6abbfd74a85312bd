//! An installed command, asked why.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use harness::{documents::Why, from_str, root};

use super::output::output;

/// What an installed command says of a file of this kind.
pub(super) fn verdict(whyoom: &Path, file: &Path, kind: &str) -> Result<Why> {
    let mut command = Command::new(whyoom);
    command.args(["why", "--json"]).arg(file).current_dir(root()).env_clear();
    let told: Why = from_str(&output(&mut command)?)?;
    let is_read = matches!(&told.inputs[..], [input] if input.kind == kind);
    ensure!(is_read, "not read as {kind}: {:?}", told.inputs);
    Ok(told)
}
