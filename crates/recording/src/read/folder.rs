//! Which files a recording's folder holds, and what their first bytes say.

use std::{collections::BTreeMap, io};

use whyoom_files::folder::{Entry, Folder};

use crate::{
    format::{HEADER, Kind},
    header::{Identity, Progress, Wrong},
    record::SHORTEST_RECORD,
};

/// Of one folder no more files are read: with the usual segments that is a recording of 128 GiB.
const MOST_FILES: usize = 1 << 17;
/// Nor more processes.
const MOST_PARTS: usize = 1 << 13;

/// The files of one part.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) has_part: bool,
    pub(super) pieces: Vec<u32>,
    pub(super) segments: Vec<u32>,
}

/// The files of a folder by the name of the part that they belong to, each part's in order, and how many more
/// there are than are read.
pub(super) fn list(folder: &Folder) -> io::Result<(BTreeMap<String, Files>, u64)> {
    let mut parts = BTreeMap::<String, Files>::new();
    let (mut listed, mut passed_over) = (0, 0);
    folder.for_each_file(|name| {
        let Some((part, kind, number)) = parse(name) else { return };
        let is_new = !parts.contains_key(part);
        if listed >= MOST_FILES || (is_new && parts.len() >= MOST_PARTS) {
            passed_over += 1;
            return;
        }
        listed += 1;
        let files = parts.entry(part.to_owned()).or_default();
        match kind {
            Kind::Part => files.has_part = true,
            Kind::Tables => files.pieces.push(number),
            Kind::Events => files.segments.push(number),
        }
    })?;
    for files in parts.values_mut() {
        files.pieces.sort_unstable();
        files.segments.sort_unstable();
    }
    Ok((parts, passed_over))
}

/// The part, the kind and the number that a file's name tells.
fn parse(name: &str) -> Option<(&str, Kind, u32)> {
    if let Some(part) = name.strip_suffix(Kind::Part.suffix()) {
        return process(part).map(|_| (part, Kind::Part, 0));
    }
    let of = |kind: Kind| {
        let (part, number) = name.strip_suffix(kind.suffix())?.rsplit_once('-')?;
        process(part)?;
        Some((part, kind, number.parse().ok()?))
    };
    of(Kind::Tables).or_else(|| of(Kind::Events))
}

/// The process and its start that a part's name tells, and which of its programs it is.
pub(super) fn process(part: &str) -> Option<(u32, u64, u32)> {
    let mut words = part.split('-');
    let pid = words.next()?.parse().ok()?;
    let started = words.next()?.parse().ok()?;
    let program = match words.next() {
        None => 0,
        Some(word) => word.strip_prefix("EXEC")?.parse().ok()?,
    };
    words.next().is_none().then_some((pid, started, program))
}

/// A file of a part.
pub(super) fn entry(folder: &Folder, part: &str, kind: Kind, number: u32) -> Entry {
    folder.entry(&format!("{part}-{number}{}", kind.suffix()))
}

/// A segment or a piece as it stood when the recording was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileView {
    pub(super) number: u32,
    /// The bytes that the file really has.
    pub(super) length: u64,
    pub(super) identity: Result<Identity, Wrong>,
    pub(super) progress: Progress,
}

/// A block of a file system: a file that is being made has any number of them.
const STEP: u64 = 4096;

/// What a file is that says nothing of itself: one that nobody has written to has the length that it was
/// made with.
fn unbegun(as_made: bool) -> Wrong {
    if as_made { Wrong::Blank } else { Wrong::Damaged }
}

impl FileView {
    /// Looks at a file. It may be gone by now: ring mode drops files.
    pub(super) fn look(entry: &Entry, kind: Kind, number: u32) -> io::Result<Self> {
        let file = entry.open()?;
        let mut start = Vec::new();
        file.read_range(0, &mut start, HEADER)?;
        // The length comes after what was written, so that it is not below that.
        let length = file.length()?;
        let progress = Progress::read(&start);
        let identity = match Identity::read(&start, kind) {
            // Whoever writes an identity has written before it where the records start.
            Ok(identity) if progress.committed < HEADER as u64 => {
                Err(unbegun(length == identity.bytes))
            }
            // Files are made with room for whole blocks, by file systems that lengthen them step by step, and cut
            // to what they hold when they end.
            Err(Wrong::Blank) => Err(unbegun(length.is_multiple_of(STEP))),
            identity => identity,
        };
        Ok(Self { number, length, identity, progress })
    }

    /// How a file stands now that nobody had written to when it was looked at; nothing where that is so still, or was
    /// not so.
    pub(super) fn begun_since(&self, entry: &Entry, kind: Kind) -> Option<Self> {
        if self.identity != Err(Wrong::Blank) {
            return None;
        }
        let now = Self::look(entry, kind, self.number).ok()?;
        now.identity.is_ok().then_some(now)
    }

    /// Where the records end: where the writer was, as far as that is known and there.
    pub(super) fn end(&self) -> u64 {
        match self.identity {
            Ok(_) => self.progress.committed.min(self.length),
            Err(_) => self.length,
        }
    }

    /// Events that were not read, of a segment whose writer closed it and so told how many there are.
    pub(super) fn unread(&self, read: u64) -> u64 {
        let told = self.progress.records;
        let is_possible = |identity: &Identity| told <= identity.bytes / SHORTEST_RECORD;
        let is_known = self.progress.closed && self.identity.as_ref().is_ok_and(is_possible);
        if is_known { told.saturating_sub(read) } else { 0 }
    }

    /// Bytes that were written and are not there.
    pub(super) fn cut(&self) -> u64 {
        match self.identity {
            Ok(identity) => self.progress.committed.min(identity.bytes).saturating_sub(self.length),
            Err(_) => 0,
        }
    }
}
