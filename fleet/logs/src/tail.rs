//! One log that is read as it is written.

use std::{
    fs::File,
    hash::{DefaultHasher, Hasher as _},
    io,
    os::unix::fs::FileExt as _,
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use whyoom_sources::oom_text;

use crate::{
    framing::decode,
    origin::Origin,
    position::{FileId, Position},
    shapes::Shapes,
};

/// Read at once. Files are read without a place of their own, so one buffer serves all.
pub(crate) const CHUNK: usize = 256 << 10;
/// How much of a log from before a message is looked at: a traceback, settings, earlier reports of memory.
const BEFORE: u64 = 64 << 10;
/// How much of what follows: the rest of the message, a table of memory, the end of the program.
const AFTER: u64 = 16 << 10;
/// A message is over when nothing was added for so long.
const QUIET: Duration = Duration::from_secs(2);
/// A program that prints messages without an end has one incident in this time.
const LONGEST: Duration = Duration::from_secs(20);
/// What tells a file from another that got its number later.
const HEAD: usize = 64;

/// A message, with what stands around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub origin: Origin,
    /// Where in the file the message stands: found again, it stands at the same place.
    pub at: u64,
    /// The position behind it.
    pub position: Position,
    /// The text without what a container runtime added.
    pub text: String,
    /// How long ago the file was made: what the run may have taken, at most.
    pub age: Option<Duration>,
}

/// One file.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    id: FileId,
    path: PathBuf,
    head: u64,
    /// Searched up to here.
    offset: u64,
    /// An earlier incident reaches up to here.
    told: u64,
    pending: Option<Pending>,
    /// It was renamed or removed: nothing is added once its writer has let go.
    pub(crate) is_leaving: bool,
}

/// A place that may be a message, and those that followed.
#[derive(Debug, Clone, Copy)]
struct Pending {
    first: u64,
    last: u64,
    since: Instant,
    grew: Instant,
}

impl Tail {
    /// Reads a file from its start, or from where an earlier reading of this very file stood.
    pub(crate) fn new(file: File, path: PathBuf, known: Option<&Position>) -> io::Result<Self> {
        let id = FileId::of(&file.metadata()?);
        let head = head_of(&file)?;
        let known = known.filter(|known| known.head == head || known.offset < HEAD as u64);
        let (offset, told) = known.map_or((0, 0), |known| (known.offset, known.told));
        Ok(Self { file, id, path, head, offset, told, pending: None, is_leaving: false })
    }

    /// Begins at the end of what is there.
    pub(crate) fn skip_to_end(&mut self) -> io::Result<()> {
        self.offset = self.file.metadata()?.len();
        self.told = self.offset;
        Ok(())
    }

    pub(crate) fn id(&self) -> FileId {
        self.id
    }

    pub(crate) fn rename(&mut self, path: PathBuf) {
        self.path = path;
    }

    /// Where a new reading would go on: not behind what may be a message.
    pub(crate) fn position(&mut self) -> Position {
        // A file that was short has got a head meanwhile.
        if self.offset >= HEAD as u64 {
            self.head = head_of(&self.file).unwrap_or(self.head);
        }
        let offset = self.pending.map_or(self.offset, |pending| pending.first);
        Position { id: self.id, path: self.path.clone(), head: self.head, offset, told: self.told }
    }

    /// Whether everything was read and nothing is pending.
    pub(crate) fn is_done(&self) -> bool {
        let length = self.file.metadata().map_or(0, |found| found.len());
        self.pending.is_none() && self.offset >= length
    }

    /// Searches what was added, at most a chunk. Returns how much that was.
    pub(crate) fn advance(
        &mut self,
        buffer: &mut Vec<u8>,
        shapes: &Shapes,
        now: Instant,
    ) -> io::Result<usize> {
        let length = self.file.metadata()?.len();
        if length < self.offset {
            // It was emptied and is written anew.
            (self.offset, self.told, self.pending) = (0, 0, None);
            self.head = head_of(&self.file)?;
        }
        // What waits to be taken is not overrun.
        if length == self.offset || self.is_full() {
            return Ok(0);
        }
        let overlap = self.offset.min(oom_text::LONGEST_ANCHOR as u64).min(self.offset - self.told);
        let from = self.offset - overlap;
        buffer.resize(CHUNK, 0);
        let read = self.file.read_at(buffer, from)?;
        let bytes = &buffer[..read];
        for at in oom_text::places(bytes) {
            if !shapes.knows(line_at(bytes, at)) {
                self.note(from + at as u64, now);
            }
        }
        let added = (read as u64).saturating_sub(overlap);
        self.offset += added;
        Ok(added as usize)
    }

    fn note(&mut self, at: u64, now: Instant) {
        let pending =
            self.pending.get_or_insert(Pending { first: at, last: at, since: now, grew: now });
        // A place in the overlap was seen before.
        if at > pending.last {
            (pending.last, pending.grew) = (at, now);
        }
    }

    fn is_full(&self) -> bool {
        self.pending.is_some_and(|pending| self.offset - pending.last >= AFTER + CHUNK as u64)
    }

    /// Whether what may be a message is complete.
    pub(crate) fn is_complete(&self, now: Instant) -> bool {
        self.pending.is_some_and(|pending| {
            self.offset - pending.last >= AFTER
                || now.duration_since(pending.grew) >= QUIET
                || now.duration_since(pending.since) >= LONGEST
        })
    }

    /// Takes what may be a message. Nothing where it is none: then lines like these are not looked at again.
    pub(crate) fn take(&mut self, shapes: &mut Shapes) -> io::Result<Option<Found>> {
        let Some(pending) = self.pending.take() else { return Ok(None) };
        let start = pending.first.saturating_sub(BEFORE).max(self.told);
        let end = self.offset.min(pending.last + AFTER);
        let mut raw = vec![0; (end - start) as usize];
        let read = read_full(&self.file, &mut raw, start)?;
        raw.truncate(read);
        let cut = if start == self.told { 0 } else { after_newline(&raw) };
        let text = decode(&raw[cut..]);
        if !oom_text::has_message(text.as_bytes()) {
            for at in oom_text::places(&raw) {
                shapes.add(line_at(&raw, at));
            }
            return Ok(None);
        }
        self.told = end;
        self.offset = end;
        let age = self.age();
        Ok(Some(Found {
            path: self.path.clone(),
            origin: Origin::of(&self.path),
            at: pending.first,
            position: self.position(),
            text,
            age,
        }))
    }

    fn age(&self) -> Option<Duration> {
        let made = self.file.metadata().ok()?.created().ok()?;
        SystemTime::now().duration_since(made).ok()
    }
}

fn head_of(file: &File) -> io::Result<u64> {
    let mut bytes = [0; HEAD];
    let read = read_full(file, &mut bytes, 0)?;
    let mut hash = DefaultHasher::new();
    hash.write(&bytes[..read]);
    Ok(hash.finish())
}

fn read_full(file: &File, buffer: &mut [u8], from: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], from + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// The line around a place.
fn line_at(bytes: &[u8], at: usize) -> &[u8] {
    let start =
        bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let end =
        bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end);
    &bytes[start..end]
}

fn after_newline(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
}
