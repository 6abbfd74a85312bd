//! One log that is read as it is written.

use std::{
    fs::File,
    hash::{DefaultHasher, Hasher as _},
    io,
    os::unix::fs::FileExt as _,
    path::PathBuf,
    time::{Duration, Instant, UNIX_EPOCH},
};

use whyoom_files::untrusted;
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
/// Messages that follow each other closely are one incident, up to so much text.
const MOST: u64 = 192 << 10;
/// What is kept in memory of a message, in case that its file is emptied.
const KEPT: usize = 4 << 10;
/// A message is over when nothing was added for so long.
const QUIET: Duration = Duration::from_secs(2);
/// A program that prints messages without an end has one incident in this time.
const LONGEST: Duration = Duration::from_secs(20);
/// The bytes that tell whether a file was written anew.
const CHECKED: u64 = 64;
/// A line is known by so much on both sides of a place.
const LINE: usize = 512;

/// A message, with what stands around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub origin: Origin,
    /// What tells it from every other, also when it is found again.
    pub name: String,
    /// The position behind it.
    pub position: Position,
    /// The text without what a container runtime added.
    pub text: String,
}

/// One file.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    origin: Origin,
    position: Position,
    /// When the file was made: its number is given again later.
    born: u128,
    pending: Option<Pending>,
    /// What was pending when the file was emptied.
    rescued: Option<Rescued>,
    shapes: Shapes,
    /// Since when it is called otherwise or is gone.
    pub(crate) left: Option<Instant>,
    /// Messages that could not be read any more.
    pub(crate) lost: u64,
}

/// A place that may be a message, and those that followed.
#[derive(Debug)]
struct Pending {
    first: u64,
    last: u64,
    since: Instant,
    grew: Instant,
    /// The text around the first place.
    kept: Vec<u8>,
}

#[derive(Debug)]
struct Rescued {
    generation: u64,
    at: u64,
    raw: Vec<u8>,
}

impl Tail {
    /// Reads a file from its start, or from where an earlier reading of this very file stood.
    pub(crate) fn new(
        file: File,
        path: PathBuf,
        origin: Origin,
        known: Option<&Position>,
    ) -> io::Result<Self> {
        let found = file.metadata()?;
        let id = FileId::of(&found);
        let born = found.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let mut position =
            Position { id, path, generation: 0, offset: 0, before: nothing(), told: 0 };
        if let Some(known) = known {
            let is_same =
                found.len() >= known.offset && before(&file, known.offset)? == known.before;
            match is_same {
                true => {
                    let Position { generation, offset, before, told, .. } = *known;
                    position = Position { generation, offset, before, told, ..position };
                }
                // Written anew meanwhile.
                false => position.generation = known.generation + 1,
            }
        }
        Ok(Self {
            file,
            origin,
            position,
            born: born.map_or(0, |born| born.as_nanos()),
            pending: None,
            rescued: None,
            shapes: Shapes::default(),
            left: None,
            lost: 0,
        })
    }

    /// Begins at the end of what is there.
    pub(crate) fn skip_to_end(&mut self) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        self.go_to(end)?;
        self.position.told = end;
        Ok(())
    }

    pub(crate) fn rename(&mut self, path: PathBuf) {
        self.position.path = path;
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.position.path
    }

    /// Where a new reading would go on: not behind what may be a message.
    pub(crate) fn position(&self) -> Position {
        match &self.pending {
            None => self.position.clone(),
            Some(pending) => {
                let before = before(&self.file, pending.first).unwrap_or(self.position.before);
                Position { offset: pending.first, before, ..self.position.clone() }
            }
        }
    }

    /// Whether everything was read and nothing is pending.
    pub(crate) fn is_done(&self) -> bool {
        let length = self.file.metadata().map_or(0, |found| found.len());
        self.pending.is_none() && self.rescued.is_none() && self.position.offset >= length
    }

    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        self.position.before = before(&self.file, offset)?;
        self.position.offset = offset;
        Ok(())
    }

    /// Searches what was added, at most a chunk. Returns how much that was.
    pub(crate) fn advance(&mut self, buffer: &mut Vec<u8>, now: Instant) -> io::Result<usize> {
        let length = self.file.metadata()?.len();
        let offset = self.position.offset;
        if length == offset || self.is_full() {
            // What waits to be taken is not overrun.
            return Ok(0);
        }
        if length < offset || before(&self.file, offset)? != self.position.before {
            self.begin_anew();
            return Ok(1);
        }
        let overlap = (oom_text::LONGEST_ANCHOR as u64).min(offset - self.position.told);
        let from = offset - overlap;
        buffer.resize(CHUNK, 0);
        let read = self.file.read_at(buffer, from)?;
        let bytes = &buffer[..read];
        if bytes.iter().all(|byte| *byte == 0) {
            // A hole costs its maker nothing.
            let next = untrusted::next_data(&self.file, offset).unwrap_or(length);
            self.go_to(next.max(from + read as u64).min(length))?;
            return Ok(1);
        }
        self.search(bytes, from, now);
        self.go_to((from + read as u64).max(offset))?;
        Ok((self.position.offset - offset) as usize)
    }

    /// It was emptied and is written anew.
    fn begin_anew(&mut self) {
        let generation = self.position.generation;
        if let Some(pending) = self.pending.take() {
            self.rescued = Some(Rescued { generation, at: pending.first, raw: pending.kept });
        }
        let (offset, told) = (0, 0);
        self.position = Position {
            generation: generation + 1,
            offset,
            told,
            before: nothing(),
            ..self.position.clone()
        };
    }

    fn search(&mut self, bytes: &[u8], from: u64, now: Instant) {
        // Of a line with many places the first counts.
        let mut line_ends = 0;
        for at in oom_text::places(bytes) {
            if at < line_ends {
                continue;
            }
            let line = line_at(bytes, at);
            line_ends = line.1;
            if !self.shapes.knows(&bytes[line.0..line.1]) {
                self.note(bytes, at, from + at as u64, now);
            }
        }
    }

    fn note(&mut self, bytes: &[u8], at: usize, place: u64, now: Instant) {
        match &mut self.pending {
            // A place in the overlap was seen before.
            Some(pending) if place > pending.last => (pending.last, pending.grew) = (place, now),
            Some(_) => {}
            None => {
                let kept = bytes[at.saturating_sub(KEPT)..bytes.len().min(at + KEPT)].to_vec();
                let (first, last) = (place, place);
                self.pending = Some(Pending { first, last, since: now, grew: now, kept });
            }
        }
    }

    /// Whether no more is read before what may be a message is taken.
    fn is_full(&self) -> bool {
        let offset = self.position.offset;
        let is_full = |pending: &Pending| {
            offset - pending.last >= AFTER + CHUNK as u64 || offset - pending.first >= MOST
        };
        self.rescued.is_some() || self.pending.as_ref().is_some_and(is_full)
    }

    /// Whether what may be a message is complete.
    pub(crate) fn is_complete(&self, now: Instant) -> bool {
        let offset = self.position.offset;
        let is_complete = |pending: &Pending| {
            offset - pending.last >= AFTER
                || offset - pending.first >= MOST
                || now.duration_since(pending.grew) >= QUIET
                || now.duration_since(pending.since) >= LONGEST
        };
        self.rescued.is_some() || self.pending.as_ref().is_some_and(is_complete)
    }

    /// Takes what may be a message. Nothing where it is none: then lines like these are not looked at again.
    pub(crate) fn take(&mut self) -> Option<Found> {
        if let Some(rescued) = self.rescued.take() {
            let text = decode(&rescued.raw);
            let is_message = oom_text::has_message(text.as_bytes());
            return is_message.then(|| self.found(rescued.generation, rescued.at, text));
        }
        let pending = self.pending.take()?;
        let taken = self.text_of(&pending).and_then(|(text, raw, end)| {
            if oom_text::has_message(text.as_bytes()) {
                self.go_to(end)?;
                self.position.told = end;
                return Ok(Some(text));
            }
            for at in oom_text::places(&raw) {
                let (start, end) = line_at(&raw, at);
                self.shapes.add(&raw[start..end]);
            }
            Ok(None)
        });
        match taken {
            Ok(text) => text.map(|text| self.found(self.position.generation, pending.first, text)),
            Err(_) => {
                self.lost += 1;
                None
            }
        }
    }

    fn found(&self, generation: u64, at: u64, text: String) -> Found {
        let name = format!("{}:{}:{generation}:{at}", self.position.id.inode, self.born);
        Found {
            path: self.position.path.clone(),
            origin: self.origin.clone(),
            name,
            position: self.position(),
            text,
        }
    }

    /// The text around, the bytes that it is made of, and where it ends.
    fn text_of(&self, pending: &Pending) -> io::Result<(String, Vec<u8>, u64)> {
        let start = pending.first.saturating_sub(BEFORE).max(self.position.told);
        let end = self.position.offset.min(pending.last + AFTER).min(pending.first + MOST);
        // One byte before tells whether it begins a line.
        let from = start.saturating_sub(1);
        let mut raw = vec![0; (end - from) as usize];
        let read = read_full(&self.file, &mut raw, from)?;
        raw.truncate(read);
        let place = (pending.first - from) as usize;
        let line_begins = raw[..place.min(raw.len())].iter().position(|byte| *byte == b'\n');
        // The rest of a line that began before is none, unless the message is in it.
        let cut = if start == 0 { 0 } else { line_begins.map_or(1, |newline| newline + 1) };
        raw.drain(..cut.min(raw.len()));
        Ok((decode(&raw), raw, end))
    }
}

/// The bytes before a place, as a number.
fn before(file: &File, offset: u64) -> io::Result<u64> {
    let from = offset.saturating_sub(CHECKED);
    let mut bytes = vec![0; (offset - from) as usize];
    let read = read_full(file, &mut bytes, from)?;
    Ok(hash(&bytes[..read]))
}

fn nothing() -> u64 {
    hash(&[])
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(bytes);
    hash.finish()
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

/// The line around a place, or what of it is near.
fn line_at(bytes: &[u8], at: usize) -> (usize, usize) {
    let (low, high) = (at.saturating_sub(LINE), bytes.len().min(at + LINE));
    let start = bytes[low..at].iter().rposition(|byte| *byte == b'\n');
    let end = bytes[at..high].iter().position(|byte| *byte == b'\n');
    (start.map_or(low, |newline| low + newline + 1), end.map_or(high, |newline| at + newline))
}
