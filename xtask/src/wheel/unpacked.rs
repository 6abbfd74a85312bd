//! A wheel unpacked without pip, which takes only wheels for its own processor and Python.

use std::path::{Path, PathBuf};

use anyhow::Result;
use harness::fresh;

use crate::tools::silent_python;

/// The files of a wheel, where an installer puts them.
pub(super) fn unpacked(wheel: &Path) -> Result<PathBuf> {
    let folder = fresh("wheel-unpacked")?;
    silent_python("unpack_wheel.py", &[wheel, &folder])?;
    Ok(folder)
}
