//! PyTorch's own history beside the recording, where it was asked for.

use std::{path::Path, process::Command};

use anyhow::Result;
use whyoom_reading::TORCH_FOLDER;

use crate::sitecustomize;

/// What Python runs before the program.
const STARTUP: &str = include_str!("startup.py");

/// Makes a command's Python processes keep PyTorch's history. Their code lies in `home`.
pub(super) fn equip(command: &mut Command, recording: &Path, home: &Path) -> Result<()> {
    let folder = recording.join(TORCH_FOLDER);
    sitecustomize::own_folder(&folder)?;
    sitecustomize::equip(command, &home.join(TORCH_FOLDER), STARTUP)?;
    command.env("WHYOOM_TORCH_HISTORY", folder);
    Ok(())
}
