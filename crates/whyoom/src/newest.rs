//! The newest recording in a folder: the input of `why` and `report` if none is named.

use std::{
    fs::{self, DirEntry, Metadata},
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    time::SystemTime,
};

use whyoom_redact::for_shell;
use whyoom_sources::recording::is_recording;

use crate::terminal::say;

/// Maximum number of entries of the folder that are looked at. Chosen, not measured.
const MAX_ENTRIES: usize = 4096;
/// The snapshots that `whyoom.record()` of the Python package writes if no name is given.
const SNAPSHOT: (&str, &str) = ("whyoom-record-", ".pickle");

/// Returns the newest recording of this user in a folder. `None` if there is none.
pub(crate) fn newest_recording(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten().take(MAX_ENTRIES);
    entries.filter_map(|entry| Some((changed(&entry)?, entry.path()))).max().map(|(_, path)| path)
}

/// Returns the newest recording here, and says which one it is. `None` if there is none.
pub(crate) fn newest_here() -> Option<PathBuf> {
    let found = newest_by_name()?;
    say(&format!("the newest recording here: {}", for_shell(&found.to_string_lossy())));
    Some(found)
}

/// Returns the newest recording here by its name alone.
fn newest_by_name() -> Option<PathBuf> {
    let found = newest_recording(Path::new("."))?;
    let name = PathBuf::from(found.file_name()?);
    // Not an option, nor standard input.
    Some(if name.to_string_lossy().starts_with('-') { found } else { name })
}

/// Returns the input of `why` if none is named: standard input if something is written to it, or else the newest
/// recording here. Without one, a text can be pasted.
pub(crate) fn for_why() -> PathBuf {
    let typed = PathBuf::from("-");
    if !is_idle_input() {
        return typed;
    }
    let Some(found) = newest_by_name() else { return typed };
    let shown = for_shell(&found.to_string_lossy());
    say(&format!("the newest recording here: {shown} (to paste a text: whyoom why -)"));
    found
}

/// Returns true if standard input is a terminal or the null device: no text waits there.
pub(crate) fn is_idle_input() -> bool {
    if io::stdin().is_terminal() {
        return true;
    }
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::FileTypeExt;
        fs::metadata("/dev/stdin").is_ok_and(|input| input.file_type().is_char_device())
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// Returns when an entry changed last. `None` if it is no recording, or another user's.
fn changed(entry: &DirEntry) -> Option<SystemTime> {
    // Those of a link are the link's own.
    let found = entry.metadata().ok()?;
    let name = entry.file_name();
    let is_snapshot = || {
        let name = name.to_string_lossy();
        found.is_file() && name.starts_with(SNAPSHOT.0) && name.ends_with(SNAPSHOT.1)
    };
    let is_one = found.is_dir() && is_recording(&entry.path()) || is_snapshot();
    (is_one && is_own(&found)).then(|| found.modified().ok())?
}

#[cfg(target_os = "linux")]
fn is_own(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(target_os = "linux"))]
fn is_own(_: &Metadata) -> bool {
    true
}
