//! A recording while it is written: every event once, in the order they happened, before ring mode drops it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque, binary_heap::PeekMut},
    io,
    path::Path,
    time::Duration,
};

use whyoom_files::folder::{Entry, Folder};
use whyoom_trace::{Event, EventSink, ProcessId, Tables, Time};

use super::{
    Losses, PartInfo, Resolve,
    cursor::lose_header,
    definitions::{Defined, Definer, ParseLimits},
    delivery,
    folder::{self, FileView, Files},
    merge::rank,
    part_file::PartFile,
    tail::{Tail, renew},
};
use crate::{
    clock,
    format::{HEADER, Kind},
    header::Wrong,
};

/// Reads a recording while it is written. Each [`Self::look`] sees how far its writers are, each [`Self::advance`]
/// hands on what they wrote until then. Nothing of what was handed on is kept.
#[derive(Debug)]
pub struct Follower {
    folder: Folder,
    parts: Vec<Followed>,
    /// Their names.
    stems: HashSet<String>,
    chains: Vec<Chain>,
    clocks: HashMap<[u8; 16], i64>,
    limits: ParseLimits,
    losses: Losses,
    /// When it was last looked, by the recording's clock.
    looked: u64,
    /// No event that was handed on is younger, but for late ones.
    reached: u64,
    unseen: Unseen,
    read: u64,
}

/// What a [`Follower`] could not take in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Events that ring mode dropped before they were read: they are missing.
    pub dropped: u64,
    /// Events that came after younger ones had been handed on: they are there, in the wrong place.
    pub late: u64,
}

/// One part.
#[derive(Debug)]
struct Followed {
    info: PartInfo,
    process: Option<ProcessId>,
    unix_offset: i64,
    defined: Defined,
    /// The piece of the tables that is read, and how far.
    piece: u32,
    piece_at: u64,
    /// The segments that were listed, and how many events were read of those that are over.
    segments: BTreeMap<u32, Option<u64>>,
    /// Events that were read of segments that are gone.
    read_of_gone: u64,
}

/// Segments that one thread after another fills.
#[derive(Debug)]
struct Chain {
    part: usize,
    /// The segment that was listed last.
    newest: u32,
    waiting: VecDeque<FileView>,
    tail: Option<Tail>,
    next: Option<Event>,
    /// The turn never goes back, so that what a thread did stays in its order.
    time: u64,
}

impl Follower {
    /// Follows the recording in a folder, which may still be empty.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.into(),
            parts: Vec::new(),
            stems: HashSet::new(),
            chains: Vec::new(),
            clocks: HashMap::new(),
            limits: ParseLimits::default(),
            losses: Losses::default(),
            looked: 0,
            reached: 0,
            unseen: Unseen::default(),
            read: 0,
        }
    }

    /// Sees which processes there are and how far each of their threads is.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn look(&mut self) -> io::Result<()> {
        self.looked = clock::now().0;
        let (listed, _) = folder::list(&self.folder)?;
        let mut new = Vec::new();
        for (stem, files) in &listed {
            // One that has no name yet is still being made.
            if !self.stems.contains(stem) && files.has_part {
                new.extend(
                    PartFile::read(&self.folder, stem, true)
                        .ok()
                        .filter(|part| !part.nameless && part.created > 0),
                );
            }
        }
        new.sort_by_key(|part| (part.created, part.info.pid, part.info.program));
        for part in new {
            let offset = *self.clocks.entry(part.boot).or_insert(part.unix_offset);
            self.stems.insert(part.info.stem.clone());
            self.parts.push(Followed::new(part.info, offset));
        }
        let nothing = Files::default();
        for at in 0..self.parts.len() {
            let files = listed.get(&self.parts[at].info.stem).unwrap_or(&nothing);
            self.look_at_segments(at, &files.segments);
        }
        for chain in &mut self.chains {
            let stem = &self.parts[chain.part].info.stem;
            let entry = |number| folder::entry(&self.folder, stem, Kind::Events, number);
            if let Some(tail) = &mut chain.tail {
                tail.look();
            }
            for view in &mut chain.waiting {
                renew(view, &entry(view.number));
            }
        }
        Ok(())
    }

    /// Reads the state of each process again: how it ended, what ring mode dropped.
    pub fn refresh(&mut self) {
        let mut dropped = 0;
        for part in &mut self.parts {
            if let Ok(now) = PartFile::read(&self.folder, &part.info.stem, true)
                && !now.nameless
            {
                part.info = now.info;
            }
            dropped += part.info.dropped_events.saturating_sub(part.read_of_gone);
        }
        self.unseen.dropped = dropped;
    }

    /// The processes, in the order in which they were found.
    pub fn parts(&self) -> impl Iterator<Item = &PartInfo> {
        self.parts.iter().map(|part| &part.info)
    }

    /// What could not be taken in its place, as of the last [`Self::refresh`].
    #[must_use]
    pub fn unseen(&self) -> Unseen {
        self.unseen
    }

    /// How many events were handed on.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.read
    }

    /// What is damaged of what was read.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Hands on what was there at the last look: events that were `delay` old by then, since a thread may take a
    /// while from an event to its record; or all, where nobody writes any more.
    pub fn advance(
        &mut self,
        delay: Option<Duration>,
        resolve: &mut dyn Resolve,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) {
        let until = delay.map_or(u64::MAX, |delay| self.unix_before(delay));
        for part in &mut self.parts {
            part.process.get_or_insert_with(|| tables.process(part.info.name()));
            part.define(&self.folder, (resolve, tables), &mut self.limits, &mut self.losses);
        }
        let mut turns = BinaryHeap::new();
        for at in 0..self.chains.len() {
            turns.extend(self.fetch(at).map(|(time, rank)| Reverse((time, rank, at))));
        }
        while let Some(mut turn) = turns.peek_mut() {
            let Reverse((time, _, at)) = *turn;
            if time > until {
                break;
            }
            self.hand_on(at, tables, sink);
            match self.fetch(at) {
                Some((time, rank)) => *turn = Reverse((time, rank, at)),
                None => drop(PeekMut::pop(turn)),
            }
        }
        self.forget_chains();
    }

    /// The time so long before the last look, as Unix time of this machine's parts.
    fn unix_before(&self, delay: Duration) -> u64 {
        let offset = self.parts.first().map_or_else(clock::unix_offset, |part| part.unix_offset);
        let delay = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.looked.saturating_sub(delay).saturating_add_signed(offset)
    }

    fn look_at_segments(&mut self, at: usize, listed: &[u32]) {
        let part = &mut self.parts[at];
        part.forget_gone(listed);
        for &number in listed {
            if part.segments.contains_key(&number) {
                continue;
            }
            let entry = folder::entry(&self.folder, &part.info.stem, Kind::Events, number);
            // Gone already, or not yet begun: the next look tells.
            let Ok(view) = FileView::look(&entry, Kind::Events, number) else { continue };
            let identity = match view.identity {
                Err(Wrong::Blank) => continue,
                Err(_) => {
                    lose_header(&view, &mut self.losses);
                    part.segments.insert(number, Some(0));
                    continue;
                }
                Ok(identity) => identity,
            };
            part.segments.insert(number, None);
            let before =
                |chain: &&mut Chain| chain.part == at && Some(chain.newest) == identity.after;
            match self.chains.iter_mut().find(before) {
                Some(chain) => {
                    chain.newest = number;
                    chain.waiting.push_back(view);
                }
                None => self.chains.push(Chain::new(at, view)),
            }
        }
    }

    /// Has a chain's next event ready; when it comes.
    fn fetch(&mut self, at: usize) -> Option<(u64, u8)> {
        let chain = &mut self.chains[at];
        let part = &mut self.parts[chain.part];
        if chain.next.is_none() {
            chain.next = chain.read(&self.folder, part, &mut self.losses);
        }
        let event = chain.next.as_ref()?;
        let time = event.time.0.saturating_add_signed(part.unix_offset);
        let rank = if time < chain.time { 0 } else { rank(&event.action) };
        Some((time.max(chain.time), rank))
    }

    fn hand_on(&mut self, at: usize, tables: &mut Tables, sink: &mut dyn EventSink) {
        let chain = &mut self.chains[at];
        let part = &mut self.parts[chain.part];
        let Some(mut event) = chain.next.take() else { return };
        event.time = Time(event.time.0.saturating_add_signed(part.unix_offset));
        chain.time = chain.time.max(event.time.0);
        event.origin.process = part.process.unwrap_or_default();
        let mut read = delivery::Read::new(event, &part.defined.ids, &mut self.losses);
        self.unseen.late += u64::from(chain.time < self.reached);
        self.reached = self.reached.max(chain.time);
        self.read += 1;
        read.hand_to(tables, sink);
    }

    /// Forgets chains that nothing follows: their newest segment is gone.
    fn forget_chains(&mut self) {
        let parts = &self.parts;
        self.chains.retain(|chain| {
            let is_idle = chain.tail.is_none() && chain.waiting.is_empty() && chain.next.is_none();
            !is_idle || parts[chain.part].segments.contains_key(&chain.newest)
        });
    }
}

impl Followed {
    fn new(info: PartInfo, unix_offset: i64) -> Self {
        Self {
            info,
            process: None,
            unix_offset,
            defined: Defined::default(),
            piece: 0,
            piece_at: HEADER as u64,
            segments: BTreeMap::new(),
            read_of_gone: 0,
        }
    }

    /// Takes the definitions that are new. Whatever an event names was defined before the event was written.
    fn define(
        &mut self,
        folder: &Folder,
        (resolve, tables): (&mut dyn Resolve, &mut Tables),
        limits: &mut ParseLimits,
        losses: &mut Losses,
    ) {
        let defined = std::mem::take(&mut self.defined);
        let mut definer = Definer::resume(defined, tables, resolve, limits);
        loop {
            let entry = folder::entry(folder, &self.info.stem, Kind::Tables, self.piece);
            let Ok(view) = FileView::look(&entry, Kind::Tables, self.piece) else { break };
            if view.identity.is_err() {
                break;
            }
            let Ok(bytes) = bytes_between(&entry, self.piece_at, view.end()) else { break };
            self.piece_at += bytes.len() as u64;
            definer.records(&bytes, losses);
            if !view.progress.closed {
                break;
            }
            (self.piece, self.piece_at) = (self.piece + 1, HEADER as u64);
        }
        self.defined = definer.pause();
    }

    /// Forgets segments that are gone, but for what was read of them. One that is still read stays.
    fn forget_gone(&mut self, listed: &[u32]) {
        let Self { segments, read_of_gone, .. } = self;
        segments.retain(|number, read| {
            let gone = listed.binary_search(number).is_err();
            let read = read.filter(|_| gone);
            *read_of_gone += read.unwrap_or(0);
            read.is_none()
        });
    }
}

impl Chain {
    fn new(part: usize, view: FileView) -> Self {
        let (newest, waiting) = (view.number, VecDeque::from([view]));
        Self { part, newest, waiting, tail: None, next: None, time: 0 }
    }

    /// The next event that was there at the last look.
    fn read(&mut self, folder: &Folder, part: &mut Followed, losses: &mut Losses) -> Option<Event> {
        loop {
            if self.tail.is_none() {
                let view = self.waiting.pop_front()?;
                let entry = folder::entry(folder, &part.info.stem, Kind::Events, view.number);
                self.tail = Some(Tail::new(entry, view));
            }
            let tail = self.tail.as_mut()?;
            if let Some(event) = tail.next(losses) {
                return Some(event);
            }
            // Whoever writes to the next segment writes to this one no more.
            if !tail.is_over() && self.waiting.is_empty() {
                return None;
            }
            tail.finish(losses);
            part.segments.insert(tail.number(), Some(tail.read));
            self.tail = None;
        }
    }
}

fn bytes_between(entry: &Entry, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
    entry.open()?.read_range(from, &mut bytes, length)?;
    Ok(bytes)
}
