//! What frameworks and `whyoom run` leave behind when memory runs out: snapshots of PyTorch and recordings.

use std::{
    collections::BTreeSet,
    fs::{self, Metadata},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use whyoom_incident::Source;

/// Something that was not written to for so long is complete.
const SETTLED: Duration = Duration::from_secs(5);
/// More are not remembered; what is older was seen.
const MOST: usize = 1 << 14;

/// A file or folder, as it was when it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DropId {
    changed: i64,
    device: u64,
    inode: u64,
}

impl DropId {
    fn of(found: &Metadata) -> Self {
        Self { changed: found.mtime(), device: found.dev(), inode: found.ino() }
    }

    /// As a part of an incident's name.
    pub(crate) fn name(self) -> String {
        format!("{}:{}:{}", self.device, self.inode, self.changed)
    }
}

/// Something that was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) id: DropId,
    pub(crate) path: PathBuf,
    pub(crate) source: Source,
}

/// What is looked for, and what was seen.
#[derive(Debug)]
pub(crate) struct Drops {
    patterns: Vec<(PathBuf, Source)>,
    seen: BTreeSet<DropId>,
}

impl Drops {
    pub(crate) fn new(
        snapshots: &[PathBuf],
        recordings: &[PathBuf],
        seen: BTreeSet<DropId>,
    ) -> Self {
        let snapshots = snapshots.iter().map(|one| (one.clone(), Source::Snapshot));
        let recordings = recordings.iter().map(|one| (one.clone(), Source::Recording));
        Self { patterns: snapshots.chain(recordings).collect(), seen }
    }

    /// Takes what is there for judged: at the very first start.
    pub(crate) fn skip_all(&mut self) {
        while !self.take(SystemTime::now() + SETTLED, MOST).is_empty() {}
    }

    /// What was left and is complete, while there is room for it.
    pub(crate) fn take(&mut self, now: SystemTime, room: usize) -> Vec<Dropped> {
        let mut all = Vec::new();
        for (pattern, source) in self.patterns.clone() {
            let Some(pattern) = pattern.to_str() else { continue };
            for path in glob::glob(pattern).into_iter().flatten().filter_map(Result::ok) {
                let found = dropped(&path, source, now);
                if let Some(found) = found.filter(|found| all.len() < room && self.is_new(found)) {
                    self.seen.insert(found.id);
                    all.push(found);
                }
            }
        }
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

fn dropped(path: &Path, source: Source, now: SystemTime) -> Option<Dropped> {
    // A link is not followed: it would lead to what its maker cannot read.
    let found = fs::symlink_metadata(path).ok()?;
    let is_kind = match source {
        Source::Recording => found.is_dir(),
        _ => found.is_file(),
    };
    let newest = match source {
        Source::Recording => newest_in(path)?,
        _ => found.modified().ok()?,
    };
    let is_settled = now.duration_since(newest).is_ok_and(|since| since >= SETTLED);
    (is_kind && is_settled).then(|| Dropped {
        id: DropId::of(&found),
        path: path.to_owned(),
        source,
    })
}

/// When anything in a recording was last written to.
fn newest_in(folder: &Path) -> Option<SystemTime> {
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
        let mut drops = Drops::new(&[at("*.pickle")], &[], BTreeSet::new());
        assert!(drops.take(SystemTime::now(), 9).is_empty(), "it may still be written");
        let later = SystemTime::now() + SETTLED;
        assert!(drops.take(later, 0).is_empty());
        let taken = drops.take(later, 9);
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].path, at("a.pickle"));
        assert!(drops.take(later, 9).is_empty());
        let mut again = Drops::new(&[at("*.pickle")], &[], drops.seen());
        assert!(again.take(later, 9).is_empty());
    }
}
