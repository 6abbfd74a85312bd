//! All events of a recording in the order they happened, in one pass.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
};

use whyoom_files::folder::Folder;
use whyoom_trace::{Action, Event, ProcessId, Time};

use super::{Losses, cursor::Cursor, folder::FileView};

/// What the events of one part need to be put in order.
pub(super) struct Part<'a> {
    pub(super) stem: &'a str,
    /// Ring mode: segments go while they are read.
    pub(super) drops: bool,
    pub(super) process: ProcessId,
    pub(super) unix_offset: i64,
}

/// Segments that one thread after another filled: each follows the one before.
pub(super) struct Chain {
    pub(super) part: usize,
    /// The last comes first.
    pub(super) segments: Vec<FileView>,
}

/// When something comes, and what goes first at the same time.
type Turn = Reverse<(u64, u8, usize)>;

/// A chain that is being read.
struct Stream {
    chain: Chain,
    cursor: Option<Cursor>,
    next: Option<Event>,
    /// The turn never goes back, so that what a thread did stays in its order.
    time: u64,
}

/// Merges chains by time. Only segments that are due are open.
pub(super) struct Merge<'a> {
    folder: &'a Folder,
    parts: Vec<Part<'a>>,
    streams: Vec<Stream>,
    turns: BinaryHeap<Turn>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(folder: &'a Folder, parts: Vec<Part<'a>>, chains: Vec<Chain>) -> Self {
        let stream = |chain| Stream { chain, cursor: None, next: None, time: 0 };
        let streams: Vec<_> = chains.into_iter().map(stream).collect();
        let first = |(at, stream): (usize, &Stream)| {
            let first = stream.chain.segments.last()?.identity.map_or(0, |id| id.first_time);
            let offset = parts.get(stream.chain.part)?.unix_offset;
            Some(Reverse((first.saturating_add_signed(offset), 0, at)))
        };
        let turns = streams.iter().enumerate().filter_map(first).collect();
        Self { folder, parts, streams, turns }
    }

    /// How many bytes there are to read, at most.
    pub(super) fn bytes(&self) -> u64 {
        let segments = self.streams.iter().flat_map(|stream| &stream.chain.segments);
        segments.fold(0, |sum, view| sum.saturating_add(view.end()))
    }

    /// The next event, and the part whose ids it has.
    #[inline]
    pub(super) fn next(&mut self, losses: &mut Losses) -> Option<(usize, Event)> {
        loop {
            let mut turn = self.turns.peek_mut()?;
            let Reverse((_, _, at)) = *turn;
            let stream = &mut self.streams[at];
            let number = stream.chain.part;
            let part = &self.parts[number];
            let event = stream.next.take();
            match stream.advance(self.folder, part, losses) {
                Some((time, rank)) => *turn = Reverse((time, rank, at)),
                None => drop(PeekMut::pop(turn)),
            }
            if let Some(mut event) = event {
                event.time = unix(event.time, part);
                event.origin.process = part.process;
                return Some((number, event));
            }
        }
    }
}

impl Stream {
    /// Reads the next event; when it comes.
    #[inline]
    fn advance(
        &mut self,
        folder: &Folder,
        part: &Part<'_>,
        losses: &mut Losses,
    ) -> Option<(u64, u8)> {
        loop {
            if let Some(cursor) = &mut self.cursor {
                if let Some(event) = cursor.next(losses) {
                    self.next = Some(event);
                    let time = unix(event.time, part).0;
                    let rank = if time < self.time { 0 } else { rank(&event.action) };
                    self.time = self.time.max(time);
                    return Some((self.time, rank));
                }
                self.cursor = None;
            }
            let view = self.chain.segments.pop()?;
            self.cursor = Some(Cursor::new(folder, part.stem, view, part.drops));
        }
    }
}

fn unix(time: Time, part: &Part<'_>) -> Time {
    Time(time.0.saturating_add_signed(part.unix_offset))
}

/// What gives something back goes before what may take the same thing at the same time.
pub(super) fn rank(action: &Action) -> u8 {
    match action {
        Action::Free { .. }
        | Action::Unreserve { .. }
        | Action::Release { .. }
        | Action::Unmap { .. }
        | Action::ContextDestroy
        | Action::CodeUnload { .. }
        | Action::SegmentFree { .. }
        | Action::SegmentUnmap { .. }
        | Action::BlockFreeRequested { .. }
        | Action::BlockFree { .. } => 0,
        Action::Exit => 2,
        _ => 1,
    }
}
