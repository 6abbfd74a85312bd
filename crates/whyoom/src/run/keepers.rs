//! What Python tells of who keeps tensors alive, where it was asked for.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{beside::keepers_files, sitecustomize};

/// What Python runs before the program.
const STARTUP: &str = include_str!("keepers.py");
/// The folder of the start-up file, in the recording's.
pub(super) const FOLDER: &str = "keepers";

/// Makes a command's Python processes tell what keeps tensors alive. Their code lies in `home`.
pub(super) fn equip(command: &mut Command, recording: &Path, home: &Path) -> Result<()> {
    sitecustomize::equip(command, &home.join(FOLDER), STARTUP)?;
    command.env("WHYOOM_KEEPERS", recording);
    Ok(())
}

/// Whether Python told anything.
pub(super) fn has_told(recording: &Path) -> bool {
    keepers_files(recording).next().is_some()
}
