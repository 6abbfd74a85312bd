//! What frameworks and `whyoom run` leave behind when memory runs out: snapshots of PyTorch and recordings.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use whyoom_files::untrusted;
use whyoom_incident::Source;
use whyoom_logs::{Entry, Pattern, Wanted, open_folder_entry};

/// Something that was not written to for so long is complete.
const SETTLED: Duration = Duration::from_secs(5);
/// A recording that says nothing of its end is one whose `whyoom run` was killed, after as long.
const ABANDONED: Duration = Duration::from_secs(600);
/// What `whyoom run` writes last.
const END_OF_RECORDING: &str = "run.json";
/// More are not remembered; what is older was seen.
const MOST: usize = 1 << 14;

/// A file or folder, as it was when it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DropId {
    /// When a file was last written to; 0 of a folder, which changes when somebody looks into it.
    changed: i64,
    device: u64,
    inode: u64,
}

impl DropId {
    /// As a part of an incident's name.
    pub(crate) fn name(self) -> String {
        format!("{}:{}", self.inode, self.changed)
    }
}

/// Something that was left.
#[derive(Debug, Clone)]
pub(crate) struct Dropped {
    pub(crate) id: DropId,
    pub(crate) source: Source,
    entry: Entry,
}

impl Dropped {
    pub(crate) fn path(&self) -> PathBuf {
        self.entry.path()
    }

    /// The file, if it is still the one that was found.
    pub(crate) fn open(&self) -> io::Result<File> {
        #[allow(clippy::disallowed_methods, reason = "the folder that the site named")]
        let folder = File::open(&self.entry.folder)?;
        self.checked(untrusted::open_below(&folder, &self.entry.below)?)
    }

    /// The folder of a recording, if it is still the one that was found.
    pub(crate) fn open_folder(&self) -> io::Result<File> {
        self.checked(open_folder_entry(&self.entry)?)
    }

    fn checked(&self, opened: File) -> io::Result<File> {
        let found = opened.metadata()?;
        let is_it = (found.dev(), found.ino()) == (self.id.device, self.id.inode);
        if is_it {
            Ok(opened)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "another file"))
        }
    }
}

/// What is looked for, and what was seen.
#[derive(Debug)]
pub(crate) struct Drops {
    patterns: Vec<(Pattern, Source)>,
    seen: BTreeSet<DropId>,
}

impl Drops {
    pub(crate) fn new(
        snapshots: Vec<Pattern>,
        recordings: Vec<Pattern>,
        seen: BTreeSet<DropId>,
    ) -> Self {
        let snapshots = snapshots.into_iter().map(|one| (one, Source::Snapshot));
        let recordings = recordings.into_iter().map(|one| (one, Source::Recording));
        Self { patterns: snapshots.chain(recordings).collect(), seen }
    }

    /// Takes what is there for judged: at the very first start.
    pub(crate) fn skip_all(&mut self) {
        while !self.take(SystemTime::now() + ABANDONED, MOST).is_empty() {}
    }

    /// What was left and is complete, while there is room for it.
    pub(crate) fn take(&mut self, now: SystemTime, room: usize) -> Vec<Dropped> {
        let mut all: Vec<Dropped> = Vec::new();
        for (pattern, source) in &self.patterns {
            let wanted = match source {
                Source::Recording => Wanted::Folders,
                _ => Wanted::Files,
            };
            for entry in pattern.entries(wanted).unwrap_or_default().entries {
                let found = dropped(entry, *source, now);
                all.extend(found.filter(|found| self.is_new(found)));
            }
        }
        // The oldest first, whatever they are called.
        all.sort_by_key(|found| found.id);
        all.truncate(room);
        self.seen.extend(all.iter().map(|found| found.id));
        while self.seen.len() > MOST {
            self.seen.pop_first();
        }
        all
    }

    fn is_new(&self, found: &Dropped) -> bool {
        let is_old =
            self.seen.len() >= MOST && self.seen.first().is_some_and(|first| found.id < *first);
        !is_old && !self.seen.contains(&found.id)
    }

    pub(crate) fn seen(&self) -> BTreeSet<DropId> {
        self.seen.clone()
    }
}

/// Whether it is complete, and what it is known by.
fn dropped(entry: Entry, source: Source, now: SystemTime) -> Option<Dropped> {
    let path = entry.path();
    let found = fs::symlink_metadata(&path).ok()?;
    let is_older = |than: Duration, changed: SystemTime| {
        now.duration_since(changed).is_ok_and(|since| since >= than)
    };
    let is_complete = match source {
        Source::Recording => match fs::symlink_metadata(path.join(END_OF_RECORDING)) {
            Ok(end) => is_older(SETTLED, end.modified().ok()?),
            Err(_) => is_older(ABANDONED, newest_in(&path)?),
        },
        _ => is_older(SETTLED, found.modified().ok()?),
    };
    let changed = if source == Source::Recording { 0 } else { found.mtime() };
    let id = DropId { changed, device: found.dev(), inode: found.ino() };
    is_complete.then_some(Dropped { id, source, entry })
}

/// When anything in a recording was last written to.
fn newest_in(folder: &std::path::Path) -> Option<SystemTime> {
    let files = fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.metadata().ok());
    files.filter_map(|found| found.modified().ok()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_taken_once_and_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.pickle"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("b.pickle")).unwrap();
        fs::create_dir(at("c.pickle")).unwrap();
        let patterns = || vec![Pattern::new(&at("*.pickle")).unwrap()];
        let mut drops = Drops::new(patterns(), Vec::new(), BTreeSet::new());
        assert!(drops.take(SystemTime::now(), 9).is_empty(), "it may still be written");
        let later = SystemTime::now() + SETTLED;
        assert!(drops.take(later, 0).is_empty());
        let taken = drops.take(later, 9);
        assert_eq!(taken.len(), 1);
        assert!(taken[0].path().ends_with("a.pickle"));
        assert!(taken[0].open().is_ok());
        fs::remove_file(at("a.pickle")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("a.pickle")).unwrap();
        assert!(taken[0].open().is_err());
        assert!(drops.take(later, 9).is_empty());
        let mut again = Drops::new(patterns(), Vec::new(), drops.seen());
        assert!(again.take(later, 9).is_empty());
    }

    #[test]
    fn a_recording_is_judged_once_when_it_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run-1");
        fs::create_dir(&run).unwrap();
        fs::write(run.join("1.part"), "x").unwrap();
        let pattern = Pattern::new(&folder.path().join("run-*")).unwrap();
        let mut drops = Drops::new(Vec::new(), vec![pattern], BTreeSet::new());
        let later = SystemTime::now() + SETTLED;
        assert!(drops.take(later, 9).is_empty(), "it runs");
        fs::write(run.join("run.json"), "{}").unwrap();
        let taken = drops.take(SystemTime::now() + SETTLED, 9);
        assert_eq!(taken.len(), 1);
        assert!(taken[0].open_folder().is_ok());
        fs::write(run.join("more"), "x").unwrap();
        assert!(drops.take(SystemTime::now() + ABANDONED, 9).is_empty());
    }
}
