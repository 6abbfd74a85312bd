//! What a part and its leases share.

use std::{
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use rustix::io::Errno;
use whyoom_trace::Time;

use super::{
    ForkGuard, Options, Stop,
    path::Stem,
    ring::{self, Ring},
    segment::Segment,
    tables::TableWriter,
};
use crate::{
    definition::Definition,
    format::{BLOCK, Kind, PART_FILE, PART_IDENTITY},
    guard,
    header::Identity,
    identity::PartIdentity,
    live::State,
    mapped::Mapped,
};

/// The length of a thread's first segment, where segments are not shorter still.
const FIRST_SEGMENT: u64 = 64 << 10;
/// A program that replaces itself keeps its number and start; after so many times recording stops.
const MOST_PARTS: u32 = 100_000;

/// The files of a part, and who has which.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) guard: ForkGuard,
    stem: Stem,
    map: Mapped,
    pid: u32,
    started: u64,
    unix_offset: i64,
    segment_bytes: u64,
    /// The number of the next segment.
    next_number: AtomicU32,
    ring: Option<Mutex<Ring>>,
    tables: Mutex<TableWriter>,
    /// What definitions take, and what they may take.
    defined: AtomicU64,
    most_defined: u64,
    /// Segments that threads gave back.
    idle: Mutex<Vec<Segment>>,
}

impl Shared {
    /// Makes the file of a new part.
    pub(super) fn create(folder: &Path, options: Options) -> Result<Self, Stop> {
        guard::forget_losses();
        let wanted = u64::from(options.segment_bytes);
        let segment_bytes = ring::segment_bytes(wanted, options.limit, BLOCK as u64);
        let identity = PartIdentity::of_this_process(segment_bytes as u32, options.limit);
        let (stem, map) = create_file(folder, &identity)?;
        map.put_identity(&identity.bytes());
        Ok(Self {
            guard: ForkGuard::new()?,
            stem,
            map,
            pid: identity.pid,
            started: identity.started,
            unix_offset: identity.unix_offset,
            segment_bytes,
            next_number: AtomicU32::new(0),
            ring: options.limit.map(|limit| Mutex::new(Ring::new(limit))),
            tables: Mutex::default(),
            defined: AtomicU64::new(0),
            most_defined: options.limit.map_or(u64::MAX, ring::most_definitions),
            idle: Mutex::new(Vec::with_capacity(64)),
        })
    }

    /// Writes a definition.
    pub(super) fn define(&self, definition: &Definition<'_>) -> Result<(), Stop> {
        self.check_losses()?;
        let identity = self.identity(0, Time(0), 0);
        let mut tables = lock(&self.tables);
        let result = tables.define(definition, &self.stem, identity);
        self.state().pieces.store(tables.made(), Ordering::Relaxed);
        self.defined.store(tables.bytes(), Ordering::Relaxed);
        result.map_err(|error| self.stop(error))
    }

    /// Whether ring mode has room for another definition.
    pub(super) fn has_room(&self) -> bool {
        self.defined.load(Ordering::Relaxed) < self.most_defined
    }

    /// A segment that another thread gave back.
    pub(super) fn idle_segment(&self) -> Option<Segment> {
        lock(&self.idle).pop()
    }

    pub(super) fn state(&self) -> &State {
        // SAFETY: the file has a second page, which consists of atomics; zeros are valid.
        unsafe { &*self.map.start().add(PART_IDENTITY).cast::<State>() }
    }

    fn identity(&self, number: u32, first: Time, bytes: u64) -> Identity {
        Identity {
            pid: self.pid,
            number,
            started: self.started,
            first_time: first.0,
            bytes,
            after: None,
            unix_offset: self.unix_offset,
        }
    }

    /// What was written before is there as far as the files are; more would be a recording with a hole.
    fn check_losses(&self) -> Result<(), Stop> {
        if guard::has_lost() { Err(self.keep(Stop::Cut)) } else { Ok(()) }
    }

    fn stop(&self, error: Errno) -> Stop {
        self.keep(Stop::from(error))
    }

    /// Keeps the reason, and returns it.
    fn keep(&self, stop: Stop) -> Stop {
        self.state().stop(format_args!("{stop}"));
        stop
    }

    /// A new segment, whose first event is of that time, after another of the same thread: that one's
    /// number and length.
    pub(super) fn new_segment(
        &self,
        first: Time,
        before: Option<(u32, u64)>,
    ) -> Result<Segment, Stop> {
        self.check_losses()?;
        let (after, length) = before.unzip();
        let bytes = match self.ring {
            Some(_) => self.segment_bytes,
            None => self.segment_bytes.min(length.map_or(FIRST_SEGMENT, |length| length * 4)),
        };
        if let Some(ring) = &self.ring {
            lock(ring).make_room(bytes, &self.stem, self.state());
        }
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let identity = Identity { after, ..self.identity(number, first, bytes) };
        let made = Segment::create(&self.stem, identity).map_err(|error| {
            if let Some(ring) = &self.ring {
                lock(ring).not_made(bytes);
            }
            self.stop(error)
        })?;
        self.state().segments.fetch_add(1, Ordering::Relaxed);
        Ok(made)
    }

    /// A segment is full, or nobody will need it.
    pub(super) fn retire(&self, segment: Segment) {
        if let Some(ring) = &self.ring {
            lock(ring).full(&segment);
        }
        segment.close(&self.stem);
    }

    /// A thread needs its segment no more. The next one goes on in it, even when the part has ended:
    /// what destroys a program's last objects is recorded event by event, each with its own lease.
    pub(super) fn give_back(&self, segment: Segment) {
        lock(&self.idle).push(segment);
    }

    pub(super) fn count(&self, events: u64) {
        self.state().totals.events.fetch_add(events, Ordering::Relaxed);
    }

    /// The process ends in order.
    pub(super) fn end(&self) {
        if !self.guard.is_same_process() {
            return;
        }
        self.close_idle();
        lock(&self.tables).close(&self.stem);
        self.state().ended.store(1, Ordering::Release);
    }

    fn close_idle(&self) {
        for segment in lock(&self.idle).drain(..) {
            self.retire(segment);
        }
    }
}

impl Drop for Shared {
    /// Closes what leases gave back after the end.
    fn drop(&mut self) {
        if self.guard.is_same_process() {
            self.close_idle();
        }
    }
}

/// A lock that a thread died with protects data that is right after every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of the part: a name that no other program of this process has taken.
fn create_file(folder: &Path, identity: &PartIdentity) -> Result<(Stem, Mapped), Stop> {
    let (pid, started) = (identity.pid, identity.started);
    for program in 0..MOST_PARTS {
        let name = match program {
            0 => format!("{pid}-{started}"),
            _ => format!("{pid}-{started}-EXEC{program}"),
        };
        let stem = Stem::new(folder, &name);
        match stem.with(Kind::Part, None, |path| Mapped::create(path, PART_FILE)) {
            Ok(map) => return Ok((stem, map)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}
