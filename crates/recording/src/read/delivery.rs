//! Events on their way from the files to whoever takes them. Of a long recording one thread reads ahead while this one
//! hands out: every machine has two processors.

use std::{
    sync::mpsc::{Receiver, SyncSender, channel, sync_channel},
    thread,
};

use whyoom_trace::{Event, EventSink, Tables};

use super::{Losses, definitions::Ids, merge::Merge};

/// A shorter recording is read before another thread is worth its start.
const LONG: u64 = 1 << 20;
/// Events that change hands at once: they stay in a processor's cache, and nobody is woken up often.
const BATCH: usize = 2048;
/// Batches that are read ahead.
const AHEAD: usize = 4;

/// An event with the tables' ids.
pub(super) struct Read {
    event: Event,
    /// Whether its pool is told apart by the part's id alone.
    nameless_pool: bool,
}

impl Read {
    #[inline(always)]
    pub(super) fn new(mut event: Event, ids: &Ids, losses: &mut Losses) -> Self {
        let nameless_pool = !ids.apply_pool(&mut event);
        losses.undefined += u64::from(!ids.apply(&mut event));
        Self { event, nameless_pool }
    }

    #[inline]
    pub(super) fn hand_to(&mut self, tables: &mut Tables, sink: &mut dyn EventSink) {
        if self.nameless_pool {
            self.event.origin.pool = tables.pool(0, self.event.origin.pool.0.into());
        }
        sink.event(&self.event, tables);
    }
}

/// Reads events in order.
pub(super) struct Reading<'a> {
    pub(super) merge: Merge<'a>,
    /// Of each part.
    pub(super) ids: Vec<Ids>,
    pub(super) losses: &'a mut Losses,
}

impl Reading<'_> {
    /// Hands every event to the sink.
    pub(super) fn deliver(mut self, tables: &mut Tables, sink: &mut dyn EventSink) {
        let two = thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        if two && self.merge.bytes() >= LONG && self.deliver_ahead(tables, sink) {
            return;
        }
        let mut batch = Vec::new();
        while self.fill(&mut batch) {
            batch.drain(..).for_each(|mut read| read.hand_to(tables, sink));
        }
    }

    /// The same, with a thread that reads ahead. False where there is none to be had: then nothing was read.
    fn deliver_ahead(&mut self, tables: &mut Tables, sink: &mut dyn EventSink) -> bool {
        let (full, filled) = sync_channel(AHEAD);
        let (empty, emptied) = channel();
        thread::scope(|scope| {
            let reader = thread::Builder::new().name("whyoom-read".to_owned());
            if reader.spawn_scoped(scope, move || self.read_ahead(&full, &emptied)).is_err() {
                return false;
            }
            for mut batch in filled {
                batch.iter_mut().for_each(|read: &mut Read| read.hand_to(tables, sink));
                batch.clear();
                // The reader may be done, and takes nothing back.
                let _ = empty.send(batch);
            }
            true
        })
    }

    /// Reads all there is, in batches.
    fn read_ahead(&mut self, full: &SyncSender<Vec<Read>>, emptied: &Receiver<Vec<Read>>) {
        loop {
            let mut batch = emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
            // Where nobody takes it, whoever handed out has given up.
            if !self.fill(&mut batch) || full.send(batch).is_err() {
                return;
            }
        }
    }

    /// Reads the next events into an empty batch; whether there are any. All that reads an event is one function, in
    /// which it is not copied about.
    #[inline(never)]
    fn fill(&mut self, batch: &mut Vec<Read>) -> bool {
        while batch.len() < BATCH {
            let Some((part, event)) = self.merge.next(self.losses) else { break };
            batch.push(Read::new(event, &self.ids[part], self.losses));
        }
        !batch.is_empty()
    }
}
