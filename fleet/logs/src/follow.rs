//! All logs that the site names, by patterns, through rotation.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
    time::Instant,
};

use whyoom_files::untrusted;

use crate::{
    position::{FileId, Positions},
    shapes::Shapes,
    tail::{CHUNK, Found, Tail},
};

/// More files are not followed at once.
const MOST_FILES: usize = 4096;
/// Read of one file in a round, so that one that is written fast does not keep the others waiting.
const MOST_CHUNKS: usize = 128;

/// Where a file that was never seen before is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// From its first line.
    First,
    /// From what is written from now on: for the first start of all. Files that appear later are read whole.
    Now,
}

/// Follows files.
#[derive(Debug)]
pub struct Follower {
    patterns: Vec<Pattern>,
    tails: BTreeMap<FileId, Tail>,
    known: Positions,
    shapes: Shapes,
    buffer: Vec<u8>,
    start: Start,
    /// Files that were not followed because there are too many.
    pub passed_over: u64,
    /// Bytes that were searched.
    pub searched: u64,
}

/// A pattern: the folder before its first wildcard, which is the site's own choice, and the rest.
#[derive(Debug)]
struct Pattern {
    folder: PathBuf,
    rest: PathBuf,
}

impl Pattern {
    fn new(pattern: &Path) -> Self {
        let is_plain =
            |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        let parts: Vec<Component<'_>> = pattern.components().collect();
        let plain = parts.iter().take_while(|part| is_plain(part)).count();
        // A pattern without a wildcard names a file in its folder.
        let plain = plain.min(parts.len().saturating_sub(1));
        Self { folder: parts[..plain].iter().collect(), rest: parts[plain..].iter().collect() }
    }

    /// The files, each opened without following a link below the folder.
    fn files(&self) -> Vec<(PathBuf, File)> {
        let Ok(folder) = fs::canonicalize(&self.folder) else { return Vec::new() };
        let Ok(opened) = open_folder(&folder) else { return Vec::new() };
        let wanted = folder.join(&self.rest);
        let Some(wanted) = wanted.to_str() else { return Vec::new() };
        let found = glob::glob(wanted).into_iter().flatten().filter_map(Result::ok);
        let open = |path: PathBuf| {
            let below = path.strip_prefix(&folder).ok()?;
            let file = untrusted::open_below(&opened, below).ok()?;
            Some((path, file))
        };
        found.filter_map(open).collect()
    }
}

#[allow(clippy::disallowed_methods, reason = "the folder that the site named")]
fn open_folder(path: &Path) -> io::Result<File> {
    File::open(path)
}

impl Follower {
    /// Follows what patterns name, from where an earlier reading stood.
    #[must_use]
    pub fn new(patterns: &[PathBuf], known: Positions, start: Start) -> Self {
        Self {
            patterns: patterns.iter().map(|pattern| Pattern::new(pattern)).collect(),
            tails: BTreeMap::new(),
            known,
            shapes: Shapes::default(),
            buffer: Vec::new(),
            start,
            passed_over: 0,
            searched: 0,
        }
    }

    /// Looks for files that are new, renamed or gone.
    pub fn look(&mut self) {
        let files: Vec<_> = self.patterns.iter().flat_map(Pattern::files).collect();
        for tail in self.tails.values_mut() {
            tail.is_leaving = true;
        }
        // What was rotated while nobody read goes first: it is the older.
        for (path, file) in self.rotated(&files).into_iter().chain(files) {
            self.follow(path, file);
        }
        // From now on, whatever is new is read whole.
        self.start = Start::First;
        self.known.clear();
    }

    /// Files that an earlier reading had begun and that have another name now.
    fn rotated(&self, files: &[(PathBuf, File)]) -> Vec<(PathBuf, File)> {
        let id = |file: &File| file.metadata().ok().map(|found| FileId::of(&found));
        let is_there = |wanted: FileId| files.iter().any(|(_, file)| id(file) == Some(wanted));
        let mut found = Vec::new();
        for position in self.known.values().filter(|position| !is_there(position.id)) {
            let Some(folder) = position.path.parent() else { continue };
            let Ok(opened) = open_folder(folder) else { continue };
            for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
                let file = untrusted::open_below(&opened, Path::new(&entry.file_name()));
                if let Some(file) = file.ok().filter(|file| id(file) == Some(position.id)) {
                    found.push((position.path.clone(), file));
                }
            }
        }
        found
    }

    fn follow(&mut self, path: PathBuf, file: File) {
        let Ok(found) = file.metadata() else { return };
        let id = FileId::of(&found);
        if let Some(tail) = self.tails.get_mut(&id) {
            tail.is_leaving = false;
            tail.rename(path);
            return;
        }
        if self.tails.len() >= MOST_FILES {
            self.passed_over += 1;
            return;
        }
        let known = self.known.get(&id);
        let Ok(mut tail) = Tail::new(file, path, known) else { return };
        if known.is_none() && self.start == Start::Now && tail.skip_to_end().is_err() {
            return;
        }
        self.tails.insert(id, tail);
    }

    /// Reads what was added, and hands out messages while there is room for them.
    pub fn poll(&mut self, now: Instant, mut room: usize) -> Vec<Found> {
        let mut all = Vec::new();
        for tail in self.tails.values_mut() {
            for _ in 0..MOST_CHUNKS {
                // A file that cannot be read is one that is gone.
                let read = tail.advance(&mut self.buffer, &self.shapes, now).unwrap_or(0);
                self.searched += read as u64;
                while room > 0 && tail.is_complete(now) {
                    if let Ok(Some(found)) = tail.take(&mut self.shapes) {
                        all.push(found);
                        room -= 1;
                    }
                }
                if read < CHUNK / 2 {
                    break;
                }
            }
        }
        self.tails.retain(|_, tail| !(tail.is_leaving && tail.is_done()));
        all
    }

    /// Where a new reading would go on.
    pub fn positions(&mut self) -> Positions {
        self.tails.values_mut().map(|tail| (tail.id(), tail.position())).collect()
    }

    /// How many files are followed.
    #[must_use]
    pub fn files(&self) -> usize {
        self.tails.len()
    }
}
