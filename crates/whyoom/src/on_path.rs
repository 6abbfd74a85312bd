//! The programs that a shell would find.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// The file that a typed name stands for, as a shell finds it.
pub(crate) fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().iter().any(|byte| std::path::is_separator(char::from(*byte))) {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// Whether a file is marked as one that can be run.
pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && is_marked(path, &about))
}

#[cfg(unix)]
fn is_marked(_: &Path, about: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;

    about.permissions().mode() & 0o111 != 0
}

/// By its extension.
#[cfg(not(unix))]
fn is_marked(path: &Path, _: &fs::Metadata) -> bool {
    path.extension().is_some_and(|kind| {
        ["exe", "bat", "cmd", "com"].iter().any(|one| kind.eq_ignore_ascii_case(one))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_a_shell_finds_them() {
        assert!(find(OsStr::new("sh")).is_some_and(|path| is_executable(&path)));
        assert_eq!(find(OsStr::new("no-such-program-anywhere")), None);
        assert_eq!(find(OsStr::new("./here")), Some(PathBuf::from("./here")));
        assert!(!is_executable(Path::new("/")));
    }
}
