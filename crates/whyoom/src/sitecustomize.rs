//! What Python runs before a program that whyoom starts, without a change to the program.

use std::{
    ffi::OsString,
    fs::Permissions,
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use tempfile::TempDir;
use whyoom_files::private;

/// The folder of our own.
pub(crate) const FOLDER: &str = "startup";
/// What every such file begins with.
const SHARED: &str = include_str!("startup.py");
/// Tells which module of a model is at work, to whoever is asked for.
pub(crate) const MODULES: &str = include_str!("modules.py");
/// The file's name decides that Python runs it.
const NAME: &str = "sitecustomize.py";

/// Where code that Python runs may lie: nobody else can change it, nor put something else in its place.
#[derive(Debug)]
pub(crate) enum InjectionFolder {
    /// In a recording, where it stays for processes that start later, also on other machines.
    Recording(PathBuf),
    /// In the temporary folder, and removed with this.
    Temporary(TempDir),
}

impl InjectionFolder {
    /// In the recording's folder; where others can change a folder on the way to it, as in a folder that a
    /// group shares, in a new one of the temporary folder.
    pub(crate) fn of_recording(folder: &Path) -> Result<Self> {
        match private::check_way(folder) {
            Ok(()) => Ok(Self::Recording(folder.to_owned())),
            Err(_) => Self::temporary(),
        }
    }

    /// In a new folder of the temporary folder.
    pub(crate) fn temporary() -> Result<Self> {
        Self::inside(&std::env::temp_dir())
    }

    fn inside(folder: &Path) -> Result<Self> {
        let advice =
            "TMPDIR must name a folder that others cannot change, or a sticky one such as /tmp";
        let checked = private::check_way(folder);
        checked
            .with_context(|| format!("will not write code into {}: {advice}", folder.display()))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("whyoom-startup-").permissions(Permissions::from_mode(0o700));
        let made = builder.tempdir_in(folder);
        let made =
            made.with_context(|| format!("cannot create a folder in {}", folder.display()))?;
        Ok(Self::Temporary(made))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Recording(folder) => folder,
            Self::Temporary(folder) => folder.path(),
        }
    }
}

/// Makes a command's Python processes run `watch` first, from a file in a folder of our own; it comes
/// back, and modules in it are found before others.
pub(crate) fn equip(command: &mut Command, folder: &Path, watch: &str) -> Result<PathBuf> {
    let sitecustomize = folder.join(FOLDER);
    let context = || format!("cannot write into {}", sitecustomize.display());
    for folder in [folder, &sitecustomize] {
        own_folder(folder).with_context(context)?;
    }
    // The last word: whatever chose the folder, nothing that others can change is run.
    private::check_way(&sitecustomize).with_context(context)?;
    private::write(&sitecustomize.join(NAME), [SHARED, watch].join("\n\n"))
        .with_context(context)?;
    let mut path = vec![sitecustomize.clone()];
    path.extend(python_path(command).iter().flat_map(std::env::split_paths));
    command.env("PYTHONPATH", std::env::join_paths(path)?);
    Ok(sitecustomize)
}

/// A private folder, new or of our own.
pub(crate) fn own_folder(folder: &Path) -> io::Result<()> {
    match private::create_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => private::adopt_folder(folder),
        made => made,
    }
}

/// The command's own search path, in which another of these files may stand already, or else ours.
fn python_path(command: &Command) -> Option<OsString> {
    let own = command.get_envs().find(|(name, _)| *name == "PYTHONPATH");
    own.map_or_else(|| std::env::var_os("PYTHONPATH"), |(_, value)| value.map(OsString::from))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn code_lies_where_nobody_else_writes() {
        let outer = tempfile::tempdir().expect("a folder");
        let recording = outer.path().join("recording");
        own_folder(&recording).expect("a new folder");
        let home = InjectionFolder::of_recording(&recording).expect("a place");
        assert_eq!(home.path(), recording);
        let open = Permissions::from_mode(0o777);
        fs::set_permissions(outer.path(), open).expect("it is ours");
        let home = InjectionFolder::of_recording(&recording).expect("another place");
        let elsewhere = home.path().to_owned();
        assert!(!elsewhere.starts_with(outer.path()));
        let mode = fs::metadata(&elsewhere).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(home);
        assert!(!elsewhere.exists());
        let refused = InjectionFolder::inside(outer.path()).expect_err("others can write there");
        assert!(format!("{refused:#}").contains("TMPDIR"), "{refused:#}");
    }
}
