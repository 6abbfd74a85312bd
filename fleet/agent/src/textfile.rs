//! The figures for node-exporter's textfile collector, which reads a file as a whole.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use whyoom_files::{private, untrusted};

/// Writes the file. Everybody may read it: node-exporter is another user.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    // It reads Prometheus' older format, which has no mark of the end. Its folder may be another user's: no link is
    // followed there.
    private::replace(path, text.trim_end_matches("# EOF\n"))?;
    // By then a link, or another name of a file that is not for everybody, may be there.
    let file = untrusted::open_entry(path)?;
    if file.metadata()?.nlink() != 1 {
        return Err(io::Error::other(format!("{} has another name, too", path.display())));
    }
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::symlink,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    /// Whoever owns the folder puts links in the file's place all the time.
    #[test]
    fn a_link_in_its_place_opens_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (file, secret, link) = (at("a.prom"), at("secret"), at("link"));
        fs::write(&secret, "secret").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    if symlink(&secret, &link).is_ok() {
                        let _ = fs::rename(&link, &file);
                    }
                }
            });
            for _ in 0..500 {
                let _ = write(&file, "figures");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::metadata(&secret).unwrap().mode() & 0o777, 0o600);
        let _ = fs::remove_file(&file);
        write(&file, "figures").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o644);
    }
}
