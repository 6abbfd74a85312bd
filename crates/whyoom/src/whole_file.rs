//! A file that is there whole or not at all.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use tempfile::{Builder, NamedTempFile};

use crate::{interrupted::remove_on_signal, misuse::Misuse};

/// A file under a temporary name beside the one that it is to have. A full disk, an error or Ctrl-C
/// leaves neither.
pub(crate) struct WholeFile {
    file: NamedTempFile,
    target: PathBuf,
}

impl WholeFile {
    /// Begins a file. One of that name stays until the new one is whole.
    pub(crate) fn begin(target: &Path) -> Result<Self> {
        // The file that a link leads to is replaced, not the link.
        let target = &behind_links(target);
        let (shown, folder) = (target.display(), folder_of(target));
        ensure!(!target.is_dir(), "cannot write {shown}: it is a folder; name a file in it");
        ensure!(
            target.is_file() || !target.exists(),
            "cannot write {shown}: it is not a regular file; use another name with -o"
        );
        ensure!(
            folder.is_dir(),
            "cannot write {shown}: folder {} does not exist",
            folder.display()
        );
        let begin = || {
            let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let prefix = format!(".{}-", name.to_string_lossy());
            let mut builder = Builder::new();
            builder.prefix(&prefix);
            as_any_new_file(&mut builder);
            let file = builder.tempfile_in(folder_of(target))?;
            remove_on_signal(file.path())?;
            io::Result::Ok(Self { file, target: target.to_owned() })
        };
        begin().with_context(|| format!("cannot write {}", target.display()))
    }

    /// The file, to write into.
    pub(crate) fn handle(&self) -> Result<File> {
        self.file.as_file().try_clone().with_context(|| self.cannot_write())
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<()> {
        let cannot_write = self.cannot_write();
        // Some disks tell only now that they are full.
        self.file.as_file().sync_data().with_context(|| cannot_write.clone())?;
        self.file.persist(&self.target).map(drop).with_context(|| cannot_write)
    }

    fn cannot_write(&self) -> String {
        format!("cannot write {}", self.target.display())
    }
}

/// Refuses a file that has something in it, unless it may be overwritten. Asked before any work is done: nobody
/// should wait for an hour and then read this.
pub(crate) fn may_write(target: &Path, force: bool) -> Result<()> {
    let in_use = fs::metadata(target).is_ok_and(|found| found.is_file() && found.len() > 0);
    if in_use && !force {
        let name = target.display();
        bail!(Misuse(format!(
            "{name} already exists: name another file, or overwrite it with --force"
        )));
    }
    Ok(())
}

/// The same for a file that only some ask for.
pub(crate) fn may_write_beside(target: &Option<PathBuf>, force: bool) -> Result<()> {
    target.as_deref().map_or(Ok(()), |target| may_write(target, force))
}

/// The folder that a file is in.
pub(crate) fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// On Windows a path would come back in another form, which nobody typed.
fn behind_links(target: &Path) -> PathBuf {
    let found = (!cfg!(windows)).then(|| fs::canonicalize(target).ok()).flatten();
    found.unwrap_or_else(|| target.to_owned())
}

/// The default is the owner's alone.
#[cfg(unix)]
fn as_any_new_file(builder: &mut Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;

    builder.permissions(fs::Permissions::from_mode(0o666));
}

/// The folder decides.
#[cfg(not(unix))]
fn as_any_new_file(_: &mut Builder<'_, '_>) {}
