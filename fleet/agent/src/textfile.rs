//! The figures for node-exporter's textfile collector, which reads a file as a whole.

use std::{fs, io, path::Path};

/// Writes the file. Everybody may read it: node-exporter is another user.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    // It reads Prometheus' older format, which has no mark of the end.
    let text = text.trim_end_matches("# EOF\n");
    let part = path.with_extension("new");
    fs::write(&part, text)?;
    fs::set_permissions(&part, fs::Permissions::from_mode(0o644))?;
    fs::rename(&part, path)
}
