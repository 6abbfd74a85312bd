//! Whether a folder is a recording, by the files in it.

use std::path::Path;

use super::ENDING;

/// Whether a path is a folder that `whyoom run` wrote, though it may have recorded nothing.
#[must_use]
pub fn is_recording(path: &Path) -> bool {
    has_recorded(path) || path.join(ENDING).is_file()
}

/// Whether a path is a folder that something was recorded into.
#[must_use]
pub fn has_recorded(path: &Path) -> bool {
    let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.any(|entry| {
        let name = entry.file_name();
        Path::new(&name).extension().is_some_and(|kind| kind == "part" || kind == "events")
    })
}
