//! What Python runs before a program that whyoom starts, without a change to the program.

use std::{
    ffi::{OsStr, OsString},
    fs::Permissions,
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use whyoom_files::{private, temporary};

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
        Self::inside(&temporary::folder())
    }

    fn inside(folder: &Path) -> Result<Self> {
        let advice =
            "TMPDIR must name a folder that others cannot change, or a sticky one such as /tmp";
        let refused = || format!("will not write code into {}: {advice}", folder.display());
        // Another user may own a link on the way, and could change it after the check.
        let folder = &folder.canonicalize().with_context(refused)?;
        private::check_way(folder).with_context(refused)?;
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
    // A link on the way could lead elsewhere when Python follows it.
    let sitecustomize = sitecustomize.canonicalize().with_context(context)?;
    // The last word: whatever chose the folder, nothing that others can change is run.
    private::check_way(&sitecustomize).with_context(context)?;
    private::write(&sitecustomize.join(NAME), [SHARED, watch].join("\n\n"))
        .with_context(context)?;
    ensure!(
        !sitecustomize.as_os_str().as_encoded_bytes().contains(&b':'),
        "{} cannot be on Python's search path: it contains a colon",
        sitecustomize.display()
    );
    let others = python_path(command).unwrap_or_default();
    command.env("PYTHONPATH", search_path(&sitecustomize, &others));
    Ok(sitecustomize)
}

/// A private folder, new or of our own.
pub(crate) fn own_folder(folder: &Path) -> io::Result<()> {
    match private::create_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => private::adopt_folder(folder),
        made => made,
    }
}

/// Returns a search path with `first` before `others`, which is kept as it is. Python takes an empty name on its
/// search path for the current folder, but ignores a variable that is empty as a whole: an empty `others` adds nothing.
fn search_path(first: &Path, others: &OsStr) -> OsString {
    let mut path = first.as_os_str().to_owned();
    if !others.is_empty() {
        path.push(":");
        path.push(others);
    }
    path
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
    fn an_empty_search_path_adds_no_name() {
        let path = |others: &str| search_path(Path::new("/ours"), OsStr::new(others));
        assert_eq!(path(""), "/ours");
        assert_eq!(path("/a:/b"), "/ours:/a:/b");
        // The user's own choice: Python takes the empty name for the current folder without whyoom, too.
        assert_eq!(path("/a:"), "/ours:/a:");
        assert_eq!(path(":"), "/ours::");
    }

    #[test]
    fn the_search_path_of_a_command_grows_in_front() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("true");
        command.env("PYTHONPATH", "");
        let first = equip(&mut command, &folder.path().join("a"), "").expect("equipped");
        let second = equip(&mut command, &folder.path().join("b"), "").expect("equipped");
        let expected = std::env::join_paths([second, first]).expect("a list");
        assert_eq!(python_path(&command), Some(expected));
    }

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
