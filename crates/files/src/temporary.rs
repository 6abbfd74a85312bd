//! The folder for temporary files.

#[cfg(target_os = "linux")]
use std::io;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

#[cfg(target_os = "linux")]
use crate::private;

/// Names the folder, on Linux and macOS.
const VARIABLE: &str = "TMPDIR";

/// Returns the folder for temporary files, as an absolute path.
///
/// [`std::env::temp_dir`] returns an empty path if `TMPDIR` is empty, which would be the current folder. Here an
/// empty `TMPDIR` counts as unset, as it does for Python and `mktemp`.
#[must_use]
pub fn folder() -> PathBuf {
    let named = named(std::env::var_os(VARIABLE).as_deref(), &std::env::temp_dir());
    std::path::absolute(&named).unwrap_or(named)
}

/// Returns the folder for temporary files, without symbolic links, if no other user can change what is in it. A
/// program may load code from there.
///
/// # Errors
/// If the folder does not exist, or other users can change it. The error names the folder and says what to do.
#[cfg(target_os = "linux")]
pub fn trusted_folder() -> io::Result<PathBuf> {
    // Another user may own a link on the way, and could change it after the check.
    let folder = folder().canonicalize()?;
    if let Err(error) = private::check_way(&folder) {
        let advice =
            "TMPDIR must name a folder that others cannot change, or a sticky one such as /tmp";
        return Err(io::Error::new(error.kind(), format!("{advice}: {error}")));
    }
    Ok(folder)
}

/// Returns `otherwise`, or `/tmp` if the variable is set and empty.
fn named(variable: Option<&OsStr>, otherwise: &Path) -> PathBuf {
    if cfg!(unix) && variable == Some(OsStr::new("")) {
        return PathBuf::from("/tmp");
    }
    otherwise.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn an_empty_variable_counts_as_unset() {
        assert_eq!(named(Some(OsStr::new("")), Path::new("")), Path::new("/tmp"));
        assert_eq!(
            named(Some(OsStr::new("/scratch")), Path::new("/scratch")),
            Path::new("/scratch")
        );
        assert_eq!(named(None, Path::new("/tmp")), Path::new("/tmp"));
        assert!(folder().is_absolute());
    }
}
