//! A process's part of a recording.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::{
    io::Errno,
    thread::futex::{self, Flags},
};
use whyoom_trace::{ThreadId, Time};

use super::{
    ForkGuard, Lease, Stop,
    path::Stem,
    ring::{self, Ring},
    segment::Segment,
    tables::TableWriter,
};
use crate::{
    definition::Definition,
    format::{BLOCK, Kind, PART_FILE, PART_IDENTITY},
    header::Identity,
    identity::PartIdentity,
    live::{LiveTotals, State},
    mapped::Mapped,
};

/// How a part is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The length of a segment, rounded up to blocks of 16 KiB. Each thread that records has one; a
    /// thread's first segments are shorter, so that threads that record little take little.
    pub segment_bytes: u32,
    /// Ring mode: the most that a part's segments may take; the oldest are dropped. Each thread
    /// that records keeps the segment that it writes, and definitions are kept, whatever the limit.
    pub limit: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 1 << 20, limit: None }
    }
}

/// A process's part of a recording. It is made once; threads take a [`Lease`] each.
///
/// A forked child inherits it and cannot write to it: every call returns [`Stop::Forked`] there, and
/// dropping it leaves the parent's alone. It makes a part of its own instead.
#[derive(Debug)]
pub struct Part {
    shared: Arc<Shared>,
}

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
    /// Segments that threads gave back; none once the part has ended.
    idle: Mutex<Option<Vec<Segment>>>,
}

/// The length of a thread's first segment, where segments are not shorter still.
const FIRST_SEGMENT: u64 = 64 << 10;
/// A program that replaces itself keeps its number and start; after so many times recording stops.
const MOST_PARTS: u32 = 100_000;

impl Part {
    /// A new part for this process in a folder that exists.
    ///
    /// # Errors
    /// Where its file cannot be made.
    pub fn create(folder: &Path, options: Options) -> Result<Self, Stop> {
        let wanted = u64::from(options.segment_bytes);
        let segment_bytes = ring::segment_bytes(wanted, options.limit, BLOCK as u64);
        let identity = PartIdentity::of_this_process(segment_bytes as u32, options.limit);
        let (stem, map) = create_file(folder, &identity)?;
        map.put_identity(&identity.bytes());
        let shared = Shared {
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
            idle: Mutex::new(Some(Vec::with_capacity(64))),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A segment for a thread to write to.
    ///
    /// # Errors
    /// In a forked child.
    pub fn lease(&self, thread: ThreadId) -> Result<Lease, Stop> {
        self.check()?;
        let idle = lock(&self.shared.idle).as_mut().and_then(Vec::pop);
        Ok(Lease::new(Arc::clone(&self.shared), thread, idle))
    }

    /// Writes what an id stands for. It is in the recording when this returns; events that name the
    /// id come after.
    ///
    /// # Errors
    /// Where the disk takes no more.
    pub fn define(&self, definition: Definition<'_>) -> Result<(), Stop> {
        self.check()?;
        let shared = &*self.shared;
        let identity = shared.identity(0, Time(0), 0);
        let mut tables = lock(&shared.tables);
        let result = tables.define(&definition, &shared.stem, identity);
        shared.state().pieces.store(tables.made(), Ordering::Relaxed);
        result.map_err(|error| shared.stop(error))
    }

    /// What the process holds now, for the recorder to keep up to date and for others to watch.
    #[must_use]
    pub fn live(&self) -> &LiveTotals {
        &self.shared.state().totals
    }

    /// Counts a failed allocation and wakes whoever waits for one ([`crate::LiveView::wait`]).
    pub fn failed(&self) {
        if self.check().is_ok() {
            let failures = &self.live().failures;
            failures.fetch_add(1, Ordering::Release);
            let _ = futex::wake(failures, Flags::empty(), i32::MAX.cast_unsigned());
        }
    }

    /// Keeps why recording stopped where a reader finds it. The first reason stays; a [`Stop`] that
    /// this crate returned was kept already.
    pub fn stopped(&self, reason: &str) {
        if self.check().is_ok() {
            self.shared.state().stop(format_args!("{reason}"));
        }
    }

    /// The process ends in order. Threads that still run may go on recording.
    pub fn end(&self) {
        self.shared.end();
    }

    /// Leaves the part as it is, open and mapped, for as long as the process lives: what a forked
    /// child does with its parent's.
    pub fn forget(self) {
        std::mem::forget(self);
    }

    /// Whether this is the process that made the part.
    #[must_use]
    #[inline]
    pub fn is_same_process(&self) -> bool {
        self.shared.guard.is_same_process()
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn check(&self) -> Result<(), Stop> {
        if self.is_same_process() { Ok(()) } else { Err(Stop::Forked) }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
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

    /// Keeps the reason, and returns it.
    fn stop(&self, error: Errno) -> Stop {
        let stop = Stop::from(error);
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

    /// A segment is full.
    pub(super) fn retire(&self, segment: Segment) {
        if let Some(ring) = &self.ring {
            lock(ring).full(&segment);
        }
        segment.close(&self.stem);
    }

    /// A thread needs its segment no more.
    pub(super) fn give_back(&self, segment: Segment) {
        match &mut *lock(&self.idle) {
            Some(idle) => idle.push(segment),
            None => segment.close(&self.stem),
        }
    }

    pub(super) fn count(&self, events: u64) {
        self.state().totals.events.fetch_add(events, Ordering::Relaxed);
    }

    fn end(&self) {
        if !self.guard.is_same_process() {
            return;
        }
        for segment in lock(&self.idle).take().unwrap_or_default() {
            segment.close(&self.stem);
        }
        lock(&self.tables).close(&self.stem);
        self.state().ended.store(1, Ordering::Release);
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
