//! A thread's right to a segment.

use std::sync::Arc;

use whyoom_trace::{Event, ThreadId};

use super::{Part, Stop, segment::Segment, shared::Shared};

/// A segment that is this thread's alone. Dropping it gives it back: another thread goes on in it.
#[derive(Debug)]
pub struct Lease {
    shared: Arc<Shared>,
    thread: ThreadId,
    /// None before the first event, and after a segment could not be had.
    segment: Option<Segment>,
    /// Events of the segment that the part's total has.
    counted: u64,
}

impl Part {
    /// A segment for a thread to write to.
    ///
    /// # Errors
    /// In a forked child.
    pub fn lease(&self, thread: ThreadId) -> Result<Lease, Stop> {
        self.check()?;
        Ok(Lease::new(Arc::clone(self.shared()), thread, self.shared().idle_segment()))
    }
}

impl Lease {
    fn new(shared: Arc<Shared>, thread: ThreadId, segment: Option<Segment>) -> Self {
        let counted = segment.as_ref().map_or(0, Segment::records);
        Self { shared, thread, segment, counted }
    }

    /// Records an event of this thread, which must be stamped with [`crate::now`]; its process and
    /// its thread are the part's and the lease's, whatever the event says.
    ///
    /// `part` is the one that the lease is of. Nothing is allocated on the heap.
    ///
    /// # Errors
    /// Where the next segment cannot be had. What was recorded before stays.
    #[inline]
    pub fn event(&mut self, part: &Part, event: &Event) -> Result<(), Stop> {
        let shared = part.shared();
        if !shared.guard.is_same_process() {
            return Err(Stop::Forked);
        }
        if let Some(segment) = &mut self.segment
            && segment.write(event, self.thread)
        {
            if segment.records_before_block() > self.counted {
                self.count();
            }
            return Ok(());
        }
        self.next_segment(event)
    }

    /// Adds what is new to the part's total.
    #[cold]
    fn count(&mut self) {
        if let Some(segment) = &self.segment {
            let records = segment.records();
            self.shared.count(records - self.counted);
            self.counted = records;
        }
    }

    #[cold]
    fn next_segment(&mut self, event: &Event) -> Result<(), Stop> {
        self.count();
        let full = self.segment.take();
        let before = full.as_ref().map(|full| (full.number(), full.length()));
        if let Some(full) = full {
            self.shared.retire(full);
        }
        self.counted = 0;
        let segment = self.segment.insert(self.shared.new_segment(event.time, before)?);
        segment.write(event, self.thread);
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.shared.guard.is_same_process() {
            self.count();
            if let Some(segment) = self.segment.take() {
                self.shared.give_back(segment);
            }
        }
    }
}
