//! What the commands share beside the harness.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use harness::{from_slice, root};
use serde::de::DeserializeOwned;

/// Runs one of the scripts in `python/` and reads the JSON that it prints.
pub(crate) fn python<T: DeserializeOwned>(script: &str, arguments: &[&Path]) -> Result<T> {
    from_slice(&printed(script, arguments)?).with_context(|| script.to_owned())
}

/// Runs one of the scripts in `python/` that prints nothing.
pub(crate) fn silent_python(script: &str, arguments: &[&Path]) -> Result<()> {
    let printed = printed(script, arguments)?;
    ensure!(printed.is_empty(), "{script} printed something");
    Ok(())
}

fn printed(script: &str, arguments: &[&Path]) -> Result<Vec<u8>> {
    let path = root().join("xtask/python").join(script);
    let output =
        Command::new("python3").arg(path).args(arguments).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{script} failed");
    Ok(output.stdout)
}

/// The last part of a path.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
