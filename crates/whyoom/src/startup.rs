//! What Python runs before a program that whyoom starts, without a change to the program.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

/// The folder of our own.
pub(crate) const FOLDER: &str = "startup";
/// What every such file begins with.
const SHARED: &str = include_str!("startup.py");
/// The file's name decides that Python runs it.
const NAME: &str = "sitecustomize.py";

/// Makes a command's Python processes run `watch` first, from a file in a folder of our own; it comes
/// back, and modules in it are found before others.
pub(crate) fn equip(command: &mut Command, folder: &Path, watch: &str) -> Result<PathBuf> {
    let folder = folder.join(FOLDER);
    let context = || format!("cannot write into {}", folder.display());
    fs::create_dir_all(&folder).with_context(context)?;
    fs::write(folder.join(NAME), [SHARED, watch].join("\n\n")).with_context(context)?;
    let mut path = vec![folder.clone()];
    path.extend(python_path(command).iter().flat_map(std::env::split_paths));
    command.env("PYTHONPATH", std::env::join_paths(path)?);
    Ok(folder)
}

/// The command's own search path, in which another of these files may stand already, or else ours.
fn python_path(command: &Command) -> Option<OsString> {
    let own = command.get_envs().find(|(name, _)| *name == "PYTHONPATH");
    own.map_or_else(|| std::env::var_os("PYTHONPATH"), |(_, value)| value.map(OsString::from))
}
