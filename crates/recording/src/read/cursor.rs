//! The events of the segments that one thread after another filled, in the order written.

use std::io;

use whyoom_files::folder::{Entry, Folder};
use whyoom_trace::Event;

use super::{
    Losses,
    block::{self, Block},
    folder::{self, FileView},
};
use crate::{
    format::{BLOCK, Kind},
    header::Wrong,
    record::{self, Last, Scan},
};

/// Reads one segment, a block at a time. Nothing is mapped: a file that somebody cuts while it is
/// read then is a loss and not a crash. Nor is it kept open: there may be more threads than
/// descriptors.
#[derive(Debug)]
pub(super) struct Cursor {
    entry: Entry,
    view: FileView,
    /// Ring mode may drop the file at any time.
    may_go: bool,
    /// Events that were read.
    read: u64,
    /// The block to read next.
    block: u64,
    bytes: Vec<u8>,
    /// What is read of the block, and where its records end.
    at: usize,
    end: usize,
    sound: bool,
    last: Last,
}

impl Cursor {
    pub(super) fn new(folder: &Folder, part: &str, view: FileView, may_go: bool) -> Self {
        Self {
            entry: folder::entry(folder, part, Kind::Events, view.number),
            view,
            may_go,
            read: 0,
            block: 0,
            bytes: Vec::new(),
            at: 0,
            end: 0,
            sound: true,
            last: Last::default(),
        }
    }

    /// The next event, by the part's own clock and ids.
    #[inline]
    pub(super) fn next(&mut self, losses: &mut Losses) -> Option<Event> {
        loop {
            if self.at < self.end {
                let mut scan = Scan::new(&self.bytes[self.at..self.end]);
                if let Some(event) = record::decode(&mut scan, &mut self.last) {
                    self.at += scan.read();
                    self.read += 1;
                    return Some(event);
                }
                self.give_up_block(losses);
            }
            if !self.next_block(losses) {
                return None;
            }
        }
    }

    /// The rest of the block is not records.
    #[cold]
    fn give_up_block(&mut self, losses: &mut Losses) {
        let rest = &self.bytes[self.at..self.end];
        // Without a header nobody knows where the records end: there, zeros are no loss.
        let expected = self.sound || self.view.identity.is_ok();
        let cut_record = self.view.cut() > 0 && self.block >= block_of(self.view.length);
        if (expected || rest.iter().any(|&byte| byte != 0)) && !cut_record {
            losses.damaged_blocks += 1;
            losses.damaged_bytes += rest.len() as u64;
        }
        self.at = self.end;
    }

    /// Whether there is another block with records.
    fn next_block(&mut self, losses: &mut Losses) -> bool {
        loop {
            let number = self.block;
            if block::start(number) >= self.view.end() {
                self.finish(losses);
                return false;
            }
            self.block += 1;
            match block::load(&self.entry, number, self.view.length, &mut self.bytes) {
                Ok(()) => {}
                Err(error) if self.may_go && error.kind() == io::ErrorKind::NotFound => {
                    losses.dropped_while_read += 1;
                    return false;
                }
                Err(error) => {
                    lose_file(&error, losses);
                    self.finish(losses);
                    return false;
                }
            }
            let progress = self.view.identity.is_ok().then_some(&self.view.progress);
            (self.at, self.last) = (0, Last::default());
            (self.end, self.sound) = match block::judge(number, &self.bytes, progress) {
                Block::Sound(end) => (end, true),
                Block::Open(end) => (end, false),
                Block::Blank => (0, true),
                Block::Damaged => {
                    losses.damaged_blocks += 1;
                    losses.damaged_bytes += self.bytes.len() as u64;
                    (0, true)
                }
            };
            if self.end > 0 {
                return true;
            }
            if self.bytes.iter().all(|&byte| byte == 0) {
                self.skip_hole(losses);
            }
        }
    }

    /// Goes on where the file has data again: a hole of a terabyte costs whoever made it nothing.
    #[cold]
    fn skip_hole(&mut self, losses: &mut Losses) {
        let start = block::start(self.block);
        let Ok(file) = self.entry.open() else { return };
        let data = file.next_data(start).unwrap_or(u64::MAX).min(self.view.end());
        // A file that somebody has cut has no more data either.
        let skipped = (data.saturating_sub(start)) / BLOCK as u64;
        self.block += skipped;
        if self.view.identity.is_ok() {
            losses.damaged_blocks += skipped;
            losses.damaged_bytes += skipped * BLOCK as u64;
        }
    }

    /// Nothing more is read: a segment that its writer closed tells how much there was.
    fn finish(&mut self, losses: &mut Losses) {
        self.bytes = Vec::new();
        losses.lost_events += self.view.unread(self.read);
    }
}

fn block_of(length: u64) -> u64 {
    length.div_ceil(BLOCK as u64)
}

/// A file that cannot be read is a loss; one that is gone may have been dropped by ring mode.
pub(super) fn lose_file(error: &io::Error, losses: &mut Losses) {
    match error.kind() {
        io::ErrorKind::NotFound => losses.missing_files += 1,
        _ => losses.unreadable_files += 1,
    }
}

/// What a file's first bytes cost.
pub(super) fn lose_header(view: &FileView, losses: &mut Losses) {
    match view.identity {
        Ok(_) | Err(Wrong::Blank) => {}
        Err(Wrong::Newer(_)) => losses.newer_files += 1,
        Err(Wrong::Damaged) => losses.damaged_headers += 1,
    }
}
