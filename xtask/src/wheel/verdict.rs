//! An installed command, asked why.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use harness::{documents::Why, from_str, root};

use super::output::output;

/// What an installed command says of a file of this kind.
pub(super) fn verdict(whyoom: &mut Command, file: &Path, kind: &str) -> Result<Why> {
    // Another root folder has another current folder.
    whyoom.args(["why", "--json"]).arg(root().join(file));
    let told: Why = from_str(&output(whyoom)?)?;
    let is_read = matches!(&told.inputs[..], [input] if input.kind == kind);
    ensure!(is_read, "not read as {kind}: {:?}", told.inputs);
    Ok(told)
}
