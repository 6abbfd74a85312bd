//! The figures for node-exporter's textfile collector, which reads a file as a whole.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path};

use whyoom_files::private;

/// Writes the file. Everybody may read it: node-exporter is another user.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    // It reads Prometheus' older format, which has no mark of the end. Its folder may be another user's: no link is
    // followed there.
    private::replace(path, text.trim_end_matches("# EOF\n"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}
