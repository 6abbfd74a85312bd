//! Which module of a model memory belongs to, as PyTorch's hooks tell.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::sitecustomize::{self, MODULES};

/// What Python runs before the program, behind what is shared.
const STARTUP: &str = include_str!("modules_startup.py");
/// The folder of the start-up file, in the recording's.
pub(super) const FOLDER: &str = "modules";

/// Makes a command's Python processes tell the recorder which module is at work. Their code lies in `home`.
pub(super) fn equip(command: &mut Command, home: &Path) -> Result<()> {
    sitecustomize::equip(command, &home.join(FOLDER), &[MODULES, STARTUP].concat())?;
    Ok(())
}
