//! The physical memory behind the allocations of graphs, on one device. Pure: it says what it needs
//! and what it gives back.
//!
//! Documented: memory is taken at a launch; graphs that do not run at the same time may share it; it
//! is kept until it is trimmed; what is not freed, and what runs, is not trimmed. By NVIDIA's sample
//! graphMemoryFootprint (NVIDIA/cuda-samples): launches in one stream share, launches in several
//! streams do not while the first still runs, allocations that are not freed share nothing.

use std::collections::BTreeSet;

use crate::timeline::{Nanoseconds, Stamp, StreamId, Timeline};

/// An executable graph.
type Exec = u64;

/// The memory that graphs have on a device.
#[derive(Debug, Default)]
pub(crate) struct GraphMemory {
    pieces: Vec<Piece>,
    used_high: u64,
    reserved_high: u64,
}

/// Memory that is all in one state. Pages are alike: which ones it has does not matter.
#[derive(Clone, Debug)]
struct Piece {
    bytes: u64,
    /// The graphs that it is mapped in.
    mapped: BTreeSet<Exec>,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// A launch uses it until then, and nobody afterwards.
    Busy(Stamp),
    /// An allocation of that graph that is not freed is in it.
    Held(Exec),
}

impl GraphMemory {
    /// Takes what a launch needs from what is there, for the graph to hold; the rest, which is
    /// returned, the device must give.
    pub(crate) fn take(
        &mut self,
        bytes: u64,
        exec: Exec,
        stream: StreamId,
        timeline: &Timeline,
        now: Nanoseconds,
    ) -> u64 {
        let mut missing = bytes;
        let usable = |piece: &Piece| match &piece.state {
            State::Busy(until) => until.finishes <= now || timeline.is_behind(stream, until),
            State::Held(_) => false,
        };
        // What the graph had before first: it needs no new mapping.
        for own in [true, false] {
            for index in 0..self.pieces.len() {
                let piece = &self.pieces[index];
                if missing == 0 || piece.mapped.contains(&exec) != own || !usable(piece) {
                    continue;
                }
                missing -= self.hold(index, missing, exec);
            }
        }
        self.note_highs();
        missing
    }

    /// Makes up to so much of a piece held by a graph.
    fn hold(&mut self, index: usize, most: u64, exec: Exec) -> u64 {
        let bytes = self.pieces[index].bytes.min(most);
        let mut held = self.split(index, bytes);
        held.mapped.insert(exec);
        held.state = State::Held(exec);
        self.pieces.push(held);
        bytes
    }

    /// Takes so much out of a piece. An emptied piece stays in its place until the next tidying.
    fn split(&mut self, index: usize, bytes: u64) -> Piece {
        let piece = &mut self.pieces[index];
        piece.bytes -= bytes;
        Piece { bytes, ..piece.clone() }
    }

    /// Adds what the device gave, for a graph to hold.
    pub(crate) fn grow(&mut self, bytes: u64, exec: Exec) {
        if bytes > 0 {
            let mapped = BTreeSet::from([exec]);
            self.pieces.push(Piece { bytes, mapped, state: State::Held(exec) });
            self.note_highs();
        }
    }

    /// A graph holds only so much any longer; the rest is in use until then.
    pub(crate) fn keep(&mut self, exec: Exec, bytes: u64, until: &Stamp) {
        let held = |piece: &Piece| matches!(piece.state, State::Held(holder) if holder == exec);
        let all: u64 =
            self.pieces.iter().filter(|piece| held(piece)).map(|piece| piece.bytes).sum();
        let mut excess = all.saturating_sub(bytes);
        for index in 0..self.pieces.len() {
            if excess > 0 && held(&self.pieces[index]) {
                let part = self.pieces[index].bytes.min(excess);
                let free = self.split(index, part);
                self.pieces.push(Piece { state: State::Busy(until.clone()), ..free });
                excess -= part;
            }
        }
        self.tidy();
    }

    /// The graph is gone; what it holds stays until it is freed.
    pub(crate) fn forget(&mut self, exec: Exec) {
        for piece in &mut self.pieces {
            piece.mapped.remove(&exec);
        }
        self.tidy();
    }

    /// Gives back what is not in use.
    pub(crate) fn trim(&mut self, now: Nanoseconds) -> u64 {
        let before = self.reserved();
        self.pieces.retain(|piece| match &piece.state {
            State::Busy(until) => until.finishes > now,
            State::Held(_) => true,
        });
        before - self.reserved()
    }

    /// Gives everything back.
    pub(crate) fn clear(&mut self) -> u64 {
        let before = self.reserved();
        self.pieces.clear();
        before
    }

    /// What the device gave.
    pub(crate) fn reserved(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    /// What is mapped in a graph, or held by an allocation of one that is gone.
    pub(crate) fn used(&self) -> u64 {
        let used =
            |piece: &&Piece| !piece.mapped.is_empty() || matches!(piece.state, State::Held(_));
        self.pieces.iter().filter(used).map(|piece| piece.bytes).sum()
    }

    /// The most that was used and reserved.
    pub(crate) fn highs(&self) -> (u64, u64) {
        (self.used_high, self.reserved_high)
    }

    /// Sets the high marks back, to what there is now.
    pub(crate) fn reset_highs(&mut self, used: bool, reserved: bool) {
        if used {
            self.used_high = self.used();
        }
        if reserved {
            self.reserved_high = self.reserved();
        }
    }

    fn note_highs(&mut self) {
        self.used_high = self.used_high.max(self.used());
        self.reserved_high = self.reserved_high.max(self.reserved());
    }

    /// Drops emptied pieces, and joins those that nothing tells apart.
    fn tidy(&mut self) {
        let mut tidied: Vec<Piece> = Vec::new();
        for piece in self.pieces.drain(..).filter(|piece| piece.bytes > 0) {
            match tidied.iter_mut().find(|other| other.is_like(&piece)) {
                Some(other) => other.bytes += piece.bytes,
                None => tidied.push(piece),
            }
        }
        self.pieces = tidied;
    }
}

impl Piece {
    fn is_like(&self, other: &Self) -> bool {
        let same = match (&self.state, &other.state) {
            (State::Busy(left), State::Busy(right)) => {
                (left.stream, left.position) == (right.stream, right.position)
            }
            (State::Held(left), State::Held(right)) => left == right,
            _ => false,
        };
        same && self.mapped == other.mapped
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::timeline::Stream;

    const MIB: u64 = 1 << 20;

    /// Launches a graph that frees all but `kept` bytes; what the device had to give.
    fn launch(
        memory: &mut GraphMemory,
        timeline: &mut Timeline,
        (exec, stream): (u64, u64),
        bytes: u64,
        kept: u64,
        now: u64,
    ) -> u64 {
        let missing = memory.take(bytes, exec, stream, timeline, now);
        memory.grow(missing, exec);
        timeline.submit(stream, 0, now, 100);
        memory.keep(exec, kept, &timeline.stamp(stream).expect("it exists"));
        missing
    }

    fn streams() -> Timeline {
        let streams = HashMap::from([(1, Stream::default()), (2, Stream::default())]);
        Timeline { streams }
    }

    #[test]
    fn graphs_of_one_stream_share_and_those_of_two_do_not_while_they_run() {
        let (mut memory, mut timeline) = (GraphMemory::default(), streams());
        assert_eq!(launch(&mut memory, &mut timeline, (10, 1), 64 * MIB, 0, 0), 64 * MIB);
        assert_eq!(launch(&mut memory, &mut timeline, (10, 1), 64 * MIB, 0, 0), 0);
        assert_eq!(launch(&mut memory, &mut timeline, (11, 1), 96 * MIB, 0, 0), 32 * MIB);
        assert_eq!(launch(&mut memory, &mut timeline, (12, 2), 64 * MIB, 0, 0), 64 * MIB);
        assert_eq!((memory.used(), memory.reserved()), (160 * MIB, 160 * MIB));
        assert_eq!(memory.trim(0), 0, "they run");
        assert_eq!(launch(&mut memory, &mut timeline, (12, 2), 160 * MIB, 0, 1000), 0);
        memory.forget(12);
        memory.forget(10);
        assert_eq!(memory.used(), 96 * MIB, "mapped in the second graph");
        assert_eq!(memory.trim(2000), 160 * MIB);
        assert_eq!((memory.used(), memory.highs()), (0, (160 * MIB, 160 * MIB)));
    }

    #[test]
    fn what_is_not_freed_is_neither_shared_nor_trimmed() {
        let (mut memory, mut timeline) = (GraphMemory::default(), streams());
        assert_eq!(launch(&mut memory, &mut timeline, (10, 1), 64 * MIB, 64 * MIB, 0), 64 * MIB);
        assert_eq!(launch(&mut memory, &mut timeline, (11, 1), 64 * MIB, 32 * MIB, 0), 64 * MIB);
        memory.forget(10);
        assert_eq!(memory.trim(1000), 32 * MIB);
        assert_eq!((memory.used(), memory.reserved()), (96 * MIB, 96 * MIB));
        let now = timeline.stamp(1).expect("it exists");
        memory.keep(10, 0, &now);
        memory.keep(11, 0, &now);
        assert_eq!(memory.trim(1000), 96 * MIB);
    }
}
