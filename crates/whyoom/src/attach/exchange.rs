//! The folder in which the process and whyoom meet: in the process's own `/tmp`, which is another than ours in a
//! container. Only the process's user can read it, and it is removed at the end. Where root attaches to another user's
//! process, the folder is that user's: whatever is read from it is that user's choice.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, lchown},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::geteuid,
};
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use whyoom_attach::Target;
use whyoom_files::{private, untrusted};

use super::script::{self, Settings};

/// Where the process finds it.
const TEMPORARY: &str = "/tmp";
/// Writable by others, and sticky.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
/// An answer is a few lines.
const LONGEST_ANSWER: u64 = 64 << 10;

/// The folder.
#[derive(Debug)]
pub(super) struct Exchange {
    folder: TempDir,
    /// Its path in the process.
    inner: PathBuf,
    /// Whose files are read.
    user: u32,
    /// While it is open, the process is watched.
    pipe: Option<File>,
}

impl Exchange {
    /// Makes it, with what the process runs.
    pub(super) fn make(target: &Target, settings: Settings) -> Result<Self> {
        let outer = target.seen(Path::new(TEMPORARY));
        let context = || format!("cannot use {TEMPORARY} of process {}", target.pid());
        let mode = fs::metadata(&outer).with_context(context)?.mode();
        ensure!(
            mode & OTHERS_WRITE == 0 || mode & STICKY != 0,
            "others can replace files in {TEMPORARY} of process {}: it must be sticky (chmod 1777 \
             {TEMPORARY})",
            target.pid()
        );
        let mut builder = tempfile::Builder::new();
        builder.prefix("whyoom-attach-").permissions(Permissions::from_mode(0o700));
        let folder = builder.tempdir_in(&outer).with_context(context)?;
        let inner = Path::new(TEMPORARY).join(folder.path().file_name().unwrap_or_default());
        let text = inner.to_string_lossy();
        private::write(&folder.path().join("start.py"), script::start(&text))?;
        private::write(&folder.path().join("look.py"), script::look(&text, settings))?;
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // For reading too: a FIFO is then opened at once. Before the folder is anybody else's.
        let open = OpenOptions::new().read(true).write(true).open(&pipe)?;
        let (user, group) = target.owner();
        if user != geteuid().as_raw() {
            for path in ["start.py", "look.py", "pipe", ""].map(|name| folder.path().join(name)) {
                lchown(path, Some(user), Some(group)).with_context(context)?;
            }
        }
        Ok(Self { folder, inner, user, pipe: Some(open) })
    }

    /// What the interpreter runs, by its path in the process.
    pub(super) fn start(&self) -> PathBuf {
        self.inner.join("start.py")
    }

    /// Watches no longer: the process sees it.
    pub(super) fn release(&mut self) {
        self.pipe = None;
    }

    /// Whether the process has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.path("begun").is_dir()
    }

    /// A file that the process has finished.
    pub(super) fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.path(name)).is_ok_and(|found| found.is_file())
    }

    /// What the process answered.
    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let bytes = untrusted::read_entry(&self.path(name), LONGEST_ANSWER)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Copies a file out, if the process wrote it.
    pub(super) fn take(&self, name: &str, to: &Path) -> Result<bool> {
        if !self.has(name) {
            return Ok(false);
        }
        let mut from = untrusted::open_entry(&self.path(name))?;
        ensure!(untrusted::belongs_to(&from, self.user), "{name} is not a file of the process");
        let shown = to.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let mut file = private::create_file(to).with_context(|| format!("cannot write {shown}"))?;
        std::io::copy(&mut from, &mut file).with_context(|| format!("cannot write {shown}"))?;
        Ok(true)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
