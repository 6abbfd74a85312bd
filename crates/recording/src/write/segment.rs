//! One segment of events as its writer sees it.

use std::{slice, sync::atomic::Ordering};

use rustix::io::Errno;
use whyoom_trace::{Event, ThreadId};

use super::path::Stem;
use crate::{
    format::{BLOCK, HEADER, Kind, TRAILER},
    header::{Header, Identity},
    mapped::{self, Mapped},
    record::{self, LONGEST_RECORD, Last},
};

/// A segment that one thread writes to.
#[derive(Debug)]
pub(crate) struct Segment {
    map: Mapped,
    number: u32,
    /// Where the next record goes.
    at: usize,
    /// Where the block's first record stands, and where its trailer will.
    block: usize,
    trailer: usize,
    last: Last,
    /// Records in this block, and in all.
    in_block: u16,
    records: u64,
    /// The youngest event.
    pub(crate) last_time: u64,
}

impl Segment {
    pub(crate) fn create(stem: &Stem, identity: Identity) -> Result<Self, Errno> {
        let length = identity.bytes as usize;
        let map =
            stem.with(Kind::Events, Some(identity.number), |path| Mapped::create(path, length))?;
        let segment = Self {
            map,
            number: identity.number,
            at: HEADER,
            block: HEADER,
            trailer: BLOCK - TRAILER,
            last: Last::default(),
            in_block: 0,
            records: 0,
            last_time: 0,
        };
        segment.header().committed.store(HEADER as u64, Ordering::Release);
        segment.map.put_identity(&identity.bytes(Kind::Events));
        Ok(segment)
    }

    /// Writes an event of a thread; whether there was room for it.
    #[inline]
    pub(crate) fn write(&mut self, event: &Event, thread: ThreadId) -> bool {
        if self.trailer - self.at < LONGEST_RECORD && !self.next_block() {
            return false;
        }
        // SAFETY: `next_block` left this much room before the block's trailer, within the map; this
        // segment is leased to one thread, and readers do not look behind `committed`.
        let room =
            unsafe { slice::from_raw_parts_mut(self.map.start().add(self.at), LONGEST_RECORD) };
        let length = record::encode(event, thread, &mut self.last, room);
        if length == 0 {
            return true;
        }
        self.at += length;
        self.in_block += 1;
        self.last_time = self.last_time.max(event.time.0);
        self.header().committed.store(self.at as u64, Ordering::Release);
        true
    }

    /// Ends the block and starts the next; whether there is one.
    #[cold]
    fn next_block(&mut self) -> bool {
        let next = self.trailer + TRAILER;
        if next + BLOCK > self.map.length() {
            return false;
        }
        self.put_trailer();
        self.records += u64::from(self.in_block);
        self.in_block = 0;
        self.last = Last::default();
        self.at = next;
        self.block = next;
        self.trailer = next + BLOCK - TRAILER;
        true
    }

    fn put_trailer(&self) {
        let used = (self.at - self.block) as u16;
        let mut trailer = [0; TRAILER];
        trailer[..4].copy_from_slice(&self.block_check().to_le_bytes());
        trailer[4..6].copy_from_slice(&used.to_le_bytes());
        trailer[6..].copy_from_slice(&self.in_block.to_le_bytes());
        // SAFETY: the trailer's place lies within the map, behind every record of the block.
        unsafe { self.map.start().add(self.trailer).cast::<[u8; TRAILER]>().write(trailer) };
    }

    /// The checksum of the block's records.
    fn block_check(&self) -> u32 {
        // SAFETY: `block..at` lies within the map and is written by nobody any more.
        let records = unsafe {
            slice::from_raw_parts(self.map.start().add(self.block), self.at - self.block)
        };
        crc32fast::hash(records)
    }

    /// Events in it.
    pub(crate) fn records(&self) -> u64 {
        self.records + u64::from(self.in_block)
    }

    /// Events in the blocks before this one.
    pub(crate) fn records_before_block(&self) -> u64 {
        self.records
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn length(&self) -> u64 {
        self.map.length() as u64
    }

    /// Ends the segment and gives back the room that it did not need.
    pub(crate) fn close(self, stem: &Stem) {
        let header = self.header();
        header.tail_check.store(self.block_check(), Ordering::Relaxed);
        header.records.store(self.records(), Ordering::Relaxed);
        header.last_time.store(self.last_time, Ordering::Relaxed);
        header.closed.store(1, Ordering::Release);
        let (number, used) = (self.number, self.at as u64);
        let all = self.length();
        drop(self);
        if all - used >= 4096 {
            // Where this fails the file stays longer than it must be, and is right all the same.
            let _ = stem.with(Kind::Events, Some(number), |path| mapped::cut(path, used));
        }
    }

    fn header(&self) -> &Header {
        header(&self.map)
    }
}

/// The header at the start of a mapped segment or piece.
pub(super) fn header(map: &Mapped) -> &Header {
    // SAFETY: the map is longer than a header and starts at a page; what changes in it is atomic.
    unsafe { &*map.start().cast::<Header>() }
}
