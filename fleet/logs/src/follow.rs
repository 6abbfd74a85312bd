//! All logs that the site names, by patterns, through rotation.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::Dir;
use whyoom_files::untrusted;

use crate::{
    origin::Origin,
    position::{FileId, Position, Positions},
    tail::{CHUNK, Found, Tail},
    walk::{Entry, Pattern, Wanted, open_folder, open_folder_below},
};

/// More files are not followed at once.
const MOST_FILES: usize = 4096;
/// Read of one file in a round, and of all, so that one that is written fast does not keep the others waiting.
const MOST_CHUNKS: usize = 128;
const MOST_BYTES: usize = 128 << 20;
/// A file that was renamed or removed is read for as long: whoever writes it may not know yet.
const LEAVING: Duration = Duration::from_secs(60);
/// Positions of files that are gone, which may come back: a folder that cannot be read for a moment.
const MOST_KEPT: usize = 1 << 14;

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
    /// Of earlier readings, and of files that have gone.
    known: Positions,
    buffer: Vec<u8>,
    start: Start,
    /// Whose turn it is to be first.
    turn: usize,
    /// Files that could not be followed: there are too many, or they cannot be opened.
    pub passed_over: u64,
    /// Messages that could not be read any more.
    pub lost: u64,
    /// Bytes that were searched.
    pub searched: u64,
}

impl Follower {
    /// Follows what patterns name, from where an earlier reading stood.
    #[must_use]
    pub fn new(patterns: Vec<Pattern>, known: Positions, start: Start) -> Self {
        Self {
            patterns,
            tails: BTreeMap::new(),
            known,
            buffer: Vec::new(),
            start,
            turn: 0,
            passed_over: 0,
            lost: 0,
            searched: 0,
        }
    }

    /// Looks for files that are new, renamed or gone.
    pub fn look(&mut self, now: Instant) {
        self.passed_over = 0;
        let mut there = BTreeSet::new();
        let mut is_whole = true;
        let mut entries = Vec::new();
        for pattern in &self.patterns {
            match pattern.entries(Wanted::Files) {
                Ok(found) => {
                    entries.extend(found.entries);
                    is_whole &= found.is_whole;
                    self.passed_over += u64::from(!found.is_whole);
                }
                // Nothing is known of what is below.
                Err(_) => (is_whole, self.passed_over) = (false, self.passed_over + 1),
            }
        }
        let is_first = self.tails.is_empty();
        if is_first {
            // What was rotated while nobody read goes first: it is the older.
            self.follow_rotated(&entries);
        }
        for entry in entries {
            there.insert(FileId { device: entry.device, inode: entry.inode });
            self.follow(&entry);
        }
        for (id, tail) in &mut self.tails {
            match there.contains(id) {
                true => tail.left = None,
                false if is_whole => drop(tail.left.get_or_insert(now)),
                false => {}
            }
        }
        // From now on, whatever is new is read whole.
        self.start = Start::First;
    }

    /// Files that an earlier reading had begun and that have another name now.
    fn follow_rotated(&mut self, entries: &[Entry]) {
        let is_there =
            |wanted: &Position| entries.iter().any(|entry| entry.inode == wanted.id.inode);
        let gone: Vec<Position> =
            self.known.values().filter(|known| !is_there(known)).cloned().collect();
        let folders: BTreeSet<&Path> =
            gone.iter().filter_map(|known| known.path.parent()).collect();
        for folder in folders {
            let Some((site, below)) = self.below_site(folder) else { continue };
            // A folder may have become a link meanwhile.
            let Ok(opened) = open_folder_below(&site, &below) else { continue };
            for entry in Dir::read_from(&opened).into_iter().flatten().filter_map(Result::ok) {
                let known = gone.iter().find(|known| {
                    known.id.inode == entry.ino() && known.path.parent() == Some(folder)
                });
                let Some(known) = known else { continue };
                let name = Path::new(OsStr::from_bytes(entry.file_name().to_bytes()));
                let file = untrusted::open_below(&opened, name);
                let origin = self.origin_of(&known.path);
                let tail =
                    file.and_then(|file| Tail::new(file, known.path.clone(), origin, Some(known)));
                if let Ok(tail) = tail {
                    self.tails.insert(known.id, tail);
                }
            }
        }
    }

    /// Whose a log is that is not among those of now.
    fn origin_of(&self, path: &Path) -> Origin {
        self.below_site(path).map(|(site, below)| Origin::of(&site, &below)).unwrap_or_default()
    }

    /// The folder that the site named above a path, and the path below it.
    fn below_site(&self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let sites = self.patterns.iter().filter_map(Pattern::folder);
        let below =
            sites.filter_map(|site| Some((path.strip_prefix(&site).ok()?.to_owned(), site)));
        let nearest = below.min_by_key(|(below, _)| below.as_os_str().len());
        nearest.map(|(below, site)| (site, below))
    }

    fn follow(&mut self, entry: &Entry) {
        let id = FileId { device: entry.device, inode: entry.inode };
        let path = entry.path();
        if let Some(tail) = self.tails.get_mut(&id) {
            if *tail.path() != path {
                tail.rename(path);
            }
            return;
        }
        let is_opened = self.tails.len() < MOST_FILES && self.open(entry, id, path).is_ok();
        self.passed_over += u64::from(!is_opened);
    }

    fn open(&mut self, entry: &Entry, id: FileId, path: PathBuf) -> io::Result<()> {
        let file = untrusted::open_below(&open_folder(&entry.folder)?, &entry.below)?;
        // File systems get other numbers when the machine starts again; files keep theirs.
        let moved = |known: &&Position| known.id.inode == id.inode && known.path == path;
        let known = self.known.get(&id).or_else(|| self.known.values().find(moved)).cloned();
        let origin = Origin { owner: Some(entry.owner), ..Origin::of(&entry.folder, &entry.below) };
        let mut tail = Tail::new(file, path, origin, known.as_ref())?;
        if known.is_none() && self.start == Start::Now {
            tail.skip_to_end()?;
        }
        if let Some(known) = known {
            self.known.remove(&known.id);
        }
        self.tails.insert(id, tail);
        Ok(())
    }

    /// Reads what was added, and hands out messages while there is room for them: one of each file in a round.
    pub fn poll(&mut self, now: Instant, mut room: usize) -> Vec<Found> {
        let mut all = Vec::new();
        let mut left = MOST_BYTES;
        self.turn = self.turn.wrapping_add(1);
        let first = self.turn % self.tails.len().max(1);
        let mut tails: Vec<&mut Tail> = self.tails.values_mut().collect();
        tails.rotate_left(first);
        for tail in tails {
            let mut is_taken = false;
            for _ in 0..MOST_CHUNKS {
                // A file that cannot be read is one that is gone.
                let read = tail.advance(&mut self.buffer, now).unwrap_or(0);
                self.searched += read as u64;
                left = left.saturating_sub(read);
                while room > 0 && !is_taken && tail.is_complete(now) {
                    if let Some(found) = tail.take() {
                        all.push(found);
                        room -= 1;
                        is_taken = true;
                    }
                }
                if read == 0 || left == 0 {
                    break;
                }
                if read < CHUNK / 2 && read > 1 {
                    break;
                }
            }
            self.lost += std::mem::take(&mut tail.lost);
        }
        self.let_go(now);
        all
    }

    /// Files that have left and are read to their ends.
    fn let_go(&mut self, now: Instant) {
        let is_over = |tail: &Tail| {
            let since = tail.left.map(|left| now.duration_since(left));
            since.is_some_and(|since| since >= LEAVING) && tail.is_done()
        };
        let over = self.tails.extract_if(.., |_, tail| is_over(tail));
        for (id, tail) in over {
            self.known.insert(id, tail.position());
        }
        while self.known.len() > MOST_KEPT {
            self.known.pop_first();
        }
    }

    /// Where a new reading would go on.
    #[must_use]
    pub fn positions(&self) -> Positions {
        let mut positions = self.known.clone();
        positions.extend(self.tails.iter().map(|(id, tail)| (*id, tail.position())));
        positions
    }

    /// How many files are followed.
    #[must_use]
    pub fn files(&self) -> usize {
        self.tails.len()
    }

    /// Whether all files are read to their ends and nothing is pending.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.tails.values().all(Tail::is_done)
    }
}
