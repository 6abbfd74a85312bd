//! What a recorded process holds while it runs, seen from another process.

use std::{fs, io, os::unix::fs::FileExt, path::Path, sync::atomic::Ordering, time::Duration};

use rustix::{
    io::Errno,
    thread::futex::{self, Flags, Timespec},
};
use whyoom_files::untrusted;

use super::{PartInfo, part_file::PartFile};
use crate::{
    format::{Kind, PART_FILE, PART_IDENTITY},
    identity::PartIdentity,
    live::{LiveTotals, State},
    mapped::Mapped,
    watcher_sync,
};

/// One recorded process, watched through a map of its file. The file may be cut meanwhile: then all figures
/// are 0. Who does not wait for failures reads [`super::LiveFigures`] instead.
#[derive(Debug)]
pub struct LiveView {
    info: PartInfo,
    map: Mapped,
    is_watcher: bool,
}

impl LiveView {
    /// Watches the process whose `.part` file this is.
    ///
    /// # Errors
    /// Where the file cannot be read, or is no part of a recording.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = untrusted::open_entry(path)?;
        let mut bytes = vec![0; PART_FILE];
        file.read_exact_at(&mut bytes, 0)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).ok_or_else(not_ours)?;
        let identity = PartIdentity::read(&bytes).map_err(|_| not_ours())?;
        let info = PartFile::new(stem, identity, &bytes, false).info;
        Ok(Self { info, map: Mapped::read(&file, PART_FILE)?, is_watcher: false })
    }

    /// The same, and looks at its failures: from the first [`Self::set_ready`] on the process waits at each
    /// until that was done.
    ///
    /// # Errors
    /// Also where the file cannot be written.
    pub fn open_as_watcher(path: &Path) -> io::Result<Self> {
        let view = Self::open(path)?;
        let file = untrusted::open_entry_for_writing(path)?;
        Ok(Self { map: Mapped::write(&file, PART_FILE)?, is_watcher: true, ..view })
    }

    /// Lets a process that waits at a failure go on, and says whether the next one is looked at.
    pub fn set_ready(&self, ready: bool) {
        if self.is_watcher {
            watcher_sync::set(&self.totals().watcher_sync, ready);
        }
    }

    /// Watches every process of a recording.
    ///
    /// # Errors
    /// Where the folder cannot be read. A part that cannot be watched is left out.
    pub fn all(folder: &Path) -> io::Result<Vec<Self>> {
        let mut views = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_part = path.to_str().is_some_and(|path| path.ends_with(Kind::Part.suffix()));
            views.extend(is_part.then(|| Self::open(&path).ok()).flatten());
        }
        views.sort_by_key(|view| (view.info.started, view.info.pid, view.info.program));
        Ok(views)
    }

    /// What was known of the process when it was opened.
    #[must_use]
    pub fn info(&self) -> &PartInfo {
        &self.info
    }

    /// What it holds now.
    #[must_use]
    pub fn totals(&self) -> &LiveTotals {
        &self.state().totals
    }

    /// Whether it ended in order by now.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state().ended.load(Ordering::Acquire) == 1
    }

    /// Why it stopped recording; empty where it did not.
    #[must_use]
    pub fn stopped(&self) -> String {
        self.state().reason()
    }

    /// How many allocations have failed.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.totals().failures.load(Ordering::Acquire)
    }

    /// How often a look was called for: by failures, and without one.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.failures().wrapping_add(self.state().asked.load(Ordering::Acquire))
    }

    /// Waits until there are other than `known` calls for a look, or for that long; how many there are then.
    #[must_use]
    pub fn wait(&self, known: u32, timeout: Duration) -> u32 {
        let timeout = Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        loop {
            let failures = self.failures();
            if self.calls() != known {
                break;
            }
            let waited =
                futex::wait(&self.totals().failures, Flags::empty(), failures, Some(&timeout));
            if !matches!(waited, Ok(()) | Err(Errno::AGAIN)) {
                break;
            }
        }
        self.calls()
    }

    fn state(&self) -> &State {
        // SAFETY: the map has a second page, also where the file has lost it; it consists of atomics, for
        // which all bytes are valid.
        unsafe { &*self.map.start().add(PART_IDENTITY).cast::<State>() }
    }
}

pub(super) fn not_ours() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a part of a recording")
}
