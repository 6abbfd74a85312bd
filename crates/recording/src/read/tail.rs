//! One segment that is read while it is written.

use std::io;

use whyoom_files::folder::Entry;
use whyoom_trace::Event;

use super::{
    Losses,
    block::{self, Block},
    folder::FileView,
};
use crate::{
    format::Kind,
    record::{self, Last, Scan},
};

/// Reads a segment as far as its writer was when it was last looked at, and goes on from there after the next look.
#[derive(Debug)]
pub(super) struct Tail {
    entry: Entry,
    view: FileView,
    /// Events that were read.
    pub(super) read: u64,
    /// Ring mode has dropped the file.
    gone: bool,
    block: u64,
    /// Where the writer was when the block was loaded, and whether it had left the block.
    loaded: u64,
    is_complete: bool,
    bytes: Vec<u8>,
    /// What is read of the block, and where its records end.
    at: usize,
    end: usize,
    last: Last,
}

impl Tail {
    pub(super) fn new(entry: Entry, view: FileView) -> Self {
        Self {
            entry,
            view,
            read: 0,
            gone: false,
            block: 0,
            loaded: 0,
            is_complete: false,
            bytes: Vec::new(),
            at: 0,
            end: 0,
            last: Last::default(),
        }
    }

    pub(super) fn number(&self) -> u32 {
        self.view.number
    }

    /// Looks how far the writer is now, or that ring mode has dropped the file.
    pub(super) fn look(&mut self) {
        self.gone |= !renew(&mut self.view, &self.entry);
    }

    /// Whether nothing more comes: its writer has closed it, or it is gone.
    pub(super) fn is_over(&self) -> bool {
        self.gone || self.view.progress.closed
    }

    /// The next event that was there at the last look.
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
                losses.damaged_blocks += 1;
                losses.damaged_bytes += (self.end - self.at) as u64;
                self.at = self.end;
            }
            if !self.load_more(losses) {
                return None;
            }
        }
    }

    /// Whether there is more to read: in the block that is read, or in the next.
    fn load_more(&mut self, losses: &mut Losses) -> bool {
        let end = self.view.end();
        while !self.gone {
            if self.is_complete && block::start(self.block + 1) < end {
                self.block += 1;
                (self.at, self.end, self.last) = (0, 0, Last::default());
                (self.loaded, self.is_complete) = (0, false);
            }
            if self.is_complete || self.loaded >= end || block::start(self.block) >= end {
                break;
            }
            if let Err(error) =
                block::load(&self.entry, self.block, self.view.length, &mut self.bytes)
            {
                self.gone = true;
                // Ring mode drops files; what was in them and not read is counted by the part.
                losses.unreadable_files += u64::from(error.kind() != io::ErrorKind::NotFound);
                break;
            }
            (self.loaded, self.is_complete) = (end, end > block::end(self.block));
            self.end = self.judge(losses);
            if self.at < self.end {
                return true;
            }
        }
        // There may be thousands of threads that do nothing.
        self.bytes = Vec::new();
        self.end = self.at;
        false
    }

    /// Where the records of the block that was loaded end.
    fn judge(&self, losses: &mut Losses) -> usize {
        match block::judge(self.block, &self.bytes, Some(&self.view.progress)) {
            Block::Sound(end) | Block::Open(end) => end,
            Block::Blank => self.at,
            Block::Damaged => {
                losses.damaged_blocks += 1;
                losses.damaged_bytes += (self.bytes.len() - self.at.min(self.bytes.len())) as u64;
                self.at
            }
        }
    }

    /// Nothing more is read: a segment that its writer closed tells how much there was.
    pub(super) fn finish(&self, losses: &mut Losses) {
        if !self.gone {
            losses.lost_events += self.view.unread(self.read);
        }
    }
}

/// Looks at a segment again that its writer had not closed. Whether it is still there; one that is gone stays as it was
/// seen.
pub(super) fn renew(view: &mut FileView, entry: &Entry) -> bool {
    if view.progress.closed {
        return true;
    }
    match FileView::look(entry, Kind::Events, view.number) {
        Ok(now) => {
            if now.identity.is_ok() {
                *view = now;
            }
            true
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}
