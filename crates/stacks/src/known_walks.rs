//! The walks over native frames that a thread has made, so that one that comes again is known by a
//! glance at each of its words instead of being unwound.
//!
//! A tree: from the stack pointer, by each word that the walk reads in turn, to what it found. A walk
//! is followed by reading just what unwinding would read, in the same order, for as long as the words
//! are the same; so its end is what unwinding would find (see `reads`). That holds while the modules
//! are those of before: whoever unloads one calls [`code_may_go`].

use std::sync::atomic::{AtomicU64, Ordering};

use crate::fingerprint::Fingerprint;
use crate::frames::End;
use crate::memory::StackBounds;
use crate::reads::{Place, Start};

/// Room for a few hundred walks. A thread that makes more forgets them all and begins anew.
const NODES: usize = 8192;
/// Twice what is kept in them at most, so that a free one is near.
const SLOTS: usize = 8192;
const ENDS: usize = 1024;
const REFUSED: usize = 64;

/// How often code may have gone.
static UNLOADS: AtomicU64 = AtomicU64::new(0);

/// To be called before and after a library is unloaded: another may come to lie at its addresses. What
/// [`crate::Capturer::fingerprint`] knows is then forgotten.
pub fn code_may_go() {
    UNLOADS.fetch_add(1, Ordering::AcqRel);
}

/// What a walk found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) print: Fingerprint,
    pub(crate) frames: usize,
    pub(crate) end: End,
}

/// A word that was read, after all those before it.
#[derive(Clone, Copy)]
struct Node {
    word: u64,
    /// Where the next word is; [`Place::NOWHERE`] at the end.
    next_at: Place,
    /// The node of the next word, as it was first seen; at the end, what was found.
    next: u32,
}

/// The walks of one thread.
pub(crate) struct KnownWalks {
    nodes: Vec<Node>,
    /// Nodes that are not the first to follow another, by that one and their word; 0 where there is none. The
    /// upper half is the node before, which is 0 for a stack pointer: that follows none.
    others: Vec<u64>,
    others_count: usize,
    /// Stack pointers of walks that could not be noted: it is not tried each time.
    refused: [u64; REFUSED],
    ends: Vec<Found>,
    unloads: u64,
}

impl KnownWalks {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::with_capacity(NODES),
            // Zeros: pages of it that are not needed take no memory.
            others: vec![0; SLOTS],
            others_count: 0,
            refused: [0; REFUSED],
            ends: Vec::with_capacity(ENDS),
            unloads: 0,
        }
    }

    /// What the walk from there finds, if it was made before. `start` is of a live frame of the calling
    /// thread, whose stack has these bounds.
    #[inline]
    pub(crate) fn find(&self, start: Start, bounds: StackBounds) -> Option<Found> {
        if self.unloads != UNLOADS.load(Ordering::Acquire) || !bounds.contains(start.sp) {
            return None;
        }
        let mut number = self.other(0, start.sp)?;
        let mut node = &self.nodes[number as usize];
        // SAFETY: every place that follows this stack pointer was read when its walk was noted, on the stack of this
        // same thread, which reaches as far up as it did.
        while let Some(word) = unsafe { node.next_at.word(start) } {
            let next = &self.nodes[node.next as usize];
            node = if next.word == word {
                number = node.next;
                next
            } else {
                number = self.other(number, word)?;
                &self.nodes[number as usize]
            };
        }
        Some(self.ends[node.next as usize])
    }

    /// Keeps a walk.
    #[cold]
    pub(crate) fn keep(&mut self, start: Start, words: &[(Place, u64)], found: Found) {
        let unloads = UNLOADS.load(Ordering::Acquire);
        let room = self.nodes.len() + words.len() + 2 <= NODES
            && self.others_count + words.len() < SLOTS / 2
            && self.ends.len() < ENDS;
        if unloads != self.unloads || !room {
            self.forget(unloads);
        }
        if self.nodes.is_empty() {
            // Number 0 is before every stack pointer.
            self.nodes.push(Node { word: 0, next_at: Place::NOWHERE, next: 0 });
        }
        if !self.insert(start, words, found) {
            self.forget(unloads);
        }
    }

    /// A walk from there cannot be noted.
    #[cold]
    pub(crate) fn refuse(&mut self, start: Start) {
        self.refused[refusal(start.sp)] = start.sp;
    }

    /// Whether one was refused.
    pub(crate) fn is_refused(&self, start: Start) -> bool {
        self.refused[refusal(start.sp)] == start.sp
    }

    /// Whether what was there agrees.
    fn insert(&mut self, start: Start, words: &[(Place, u64)], found: Found) -> bool {
        let places = words.iter().map(|(place, _)| *place).chain([Place::NOWHERE]);
        let values = [start.sp].into_iter().chain(words.iter().map(|(_, word)| *word));
        let mut after = 0;
        for (word, next_at) in values.zip(places) {
            after = match self.follower(after, word) {
                Some(known) if self.nodes[known as usize].next_at == next_at => known,
                // The same words led elsewhere.
                Some(_) => return false,
                None => self.add(after, Node { word, next_at, next: 0 }),
            };
        }
        self.ends.push(found);
        self.nodes[after as usize].next = self.ends.len() as u32 - 1;
        true
    }

    fn follower(&self, after: u32, word: u64) -> Option<u32> {
        let first = self.nodes[after as usize].next;
        let is_first = after != 0 && first != 0 && self.nodes[first as usize].word == word;
        if is_first { Some(first) } else { self.other(after, word) }
    }

    fn add(&mut self, after: u32, node: Node) -> u32 {
        let number = self.nodes.len() as u32;
        self.nodes.push(node);
        let before = &mut self.nodes[after as usize];
        if after != 0 && before.next == 0 {
            before.next = number;
        } else {
            let mut slot = slot(after, node.word);
            while self.others[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            self.others[slot] = u64::from(after) << 32 | u64::from(number);
            self.others_count += 1;
        }
        number
    }

    #[inline]
    fn other(&self, after: u32, word: u64) -> Option<u32> {
        let mut slot = slot(after, word);
        loop {
            let other = self.others[slot];
            if other == 0 {
                return None;
            }
            let node = other as u32;
            if (other >> 32) as u32 == after && self.nodes[node as usize].word == word {
                return Some(node);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    fn forget(&mut self, unloads: u64) {
        self.nodes.clear();
        self.others.fill(0);
        self.refused.fill(0);
        self.others_count = 0;
        self.ends.clear();
        self.unloads = unloads;
    }
}

#[inline]
fn slot(after: u32, word: u64) -> usize {
    let mixed = (word ^ u64::from(after) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 51) as usize % SLOTS
}

fn refusal(sp: u64) -> usize {
    (sp / 16 % REFUSED as u64) as usize
}
