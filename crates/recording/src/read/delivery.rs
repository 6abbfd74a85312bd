//! Events on their way from the files to whoever takes them. Of a long recording one thread reads while this one
//! hands out: both cost about the same, and every machine has two processors.

use std::{
    sync::mpsc::{Receiver, SyncSender, channel, sync_channel},
    thread,
};

use whyoom_trace::{Event, EventSink, Tables};

use super::{Losses, definitions::Ids, merge::Merge};

/// A shorter recording is read before another thread is worth its start.
const LONG: u64 = 1 << 20;
/// Events that change hands at once: they stay in a processor's cache.
const BATCH: usize = 512;
/// Batches that are read ahead.
const AHEAD: usize = 4;

/// An event with the part whose ids it has.
type Read = (usize, Event);

/// Puts the tables' ids in place of the parts' and hands events to the sink.
pub(super) struct Delivery<'a> {
    /// Of each part.
    pub(super) ids: Vec<Ids>,
    pub(super) tables: &'a mut Tables,
    pub(super) sink: &'a mut dyn EventSink,
}

impl Delivery<'_> {
    /// Hands every event to the sink.
    pub(super) fn run(mut self, mut merge: Merge<'_>, losses: &mut Losses) {
        let mut undefined = 0;
        let two = thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        if !(two && merge.bytes() >= LONG && self.on_two(&mut merge, losses, &mut undefined)) {
            while let Some((part, mut event)) = merge.next(losses) {
                undefined += self.hand_over(part, &mut event);
            }
        }
        losses.undefined += undefined;
    }

    /// The same, with a thread that reads ahead. False where there is none to be had: then nothing was read.
    fn on_two(&mut self, merge: &mut Merge<'_>, losses: &mut Losses, undefined: &mut u64) -> bool {
        let (full, filled) = sync_channel::<Vec<Read>>(AHEAD);
        let (empty, emptied) = channel();
        thread::scope(|scope| {
            let reader = thread::Builder::new().name("whyoom-read".to_owned());
            let read = move || read_ahead(merge, losses, &full, &emptied);
            if reader.spawn_scoped(scope, read).is_err() {
                return false;
            }
            for mut batch in filled {
                for (part, event) in &mut batch {
                    *undefined += self.hand_over(*part, event);
                }
                batch.clear();
                // The reader is done where nobody takes it back.
                let _ = empty.send(batch);
            }
            true
        })
    }

    /// Hands an event to the sink; how many of its ids nobody defined.
    #[inline]
    fn hand_over(&mut self, part: usize, event: &mut Event) -> u64 {
        let defined = self.ids[part].apply(event, self.tables);
        self.sink.event(event, self.tables);
        u64::from(!defined)
    }
}

/// Reads all there is, in batches.
fn read_ahead(
    merge: &mut Merge<'_>,
    losses: &mut Losses,
    full: &SyncSender<Vec<Read>>,
    emptied: &Receiver<Vec<Read>>,
) {
    loop {
        let mut batch = emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        batch.extend(std::iter::from_fn(|| merge.next(losses)).take(BATCH));
        let is_last = batch.len() < BATCH;
        // Where nobody takes it, whoever took them has given up.
        if full.send(batch).is_err() || is_last {
            return;
        }
    }
}
