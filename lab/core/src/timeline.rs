//! Streams and events: what has been submitted, when it will be finished, and who has waited for
//! whom. Time is nanoseconds of a clock that the caller reads. Pure.

use std::collections::HashMap;

/// Nanoseconds on the process's clock.
pub type Nanoseconds = u64;

/// A stream's handle.
pub type StreamId = u64;

/// A point in a stream's work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) stream: StreamId,
    /// How much had been submitted to the stream.
    pub(crate) position: u64,
    /// When that is finished.
    pub(crate) finishes: Nanoseconds,
    /// Up to which position of other streams the stream had waited.
    seen: HashMap<StreamId, u64>,
}

impl Stamp {
    /// A point that is known by its time alone.
    pub(crate) fn at(finishes: Nanoseconds) -> Self {
        Self { finishes, ..Self::default() }
    }
}

/// A queue of work on a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    pub(crate) context: u64,
    /// Whether it waits for the legacy default stream, and that one for it.
    pub(crate) blocking: bool,
    pub(crate) priority: i32,
    position: u64,
    finishes: Nanoseconds,
    seen: HashMap<StreamId, u64>,
}

impl Stream {
    /// A stream without work.
    pub(crate) fn new(context: u64, blocking: bool, priority: i32) -> Self {
        Self { context, blocking, priority, ..Self::default() }
    }
}

/// All streams of a process.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) streams: HashMap<StreamId, Stream>,
}

impl Timeline {
    /// Submits work that takes so long, behind everything that the stream waits for.
    pub(crate) fn submit(
        &mut self,
        id: StreamId,
        legacy: StreamId,
        now: Nanoseconds,
        duration: Nanoseconds,
    ) {
        self.join_legacy(id, legacy);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.position += 1;
            stream.finishes = stream.finishes.max(now) + duration;
        }
    }

    /// The legacy default stream waits for all blocking streams of its context, and they for it.
    fn join_legacy(&mut self, id: StreamId, legacy: StreamId) {
        let Some(stream) = self.streams.get(&id) else { return };
        if !stream.blocking {
            return;
        }
        let is_ahead = |(other, ahead): &(&StreamId, &Stream)| {
            let concerns = id == legacy || **other == legacy;
            let of_context = ahead.blocking && ahead.context == stream.context;
            let seen = stream.seen.get(*other).copied().unwrap_or_default();
            **other != id && concerns && of_context && ahead.position > seen
        };
        let ahead: Vec<StreamId> =
            self.streams.iter().filter(is_ahead).map(|(id, _)| *id).collect();
        for other in ahead {
            if let Some(stamp) = self.stamp(other) {
                self.wait(id, &stamp);
            }
        }
    }

    /// Where a stream stands.
    pub(crate) fn stamp(&self, id: StreamId) -> Option<Stamp> {
        let stream = self.streams.get(&id)?;
        Some(Stamp {
            stream: id,
            position: stream.position,
            finishes: stream.finishes,
            seen: stream.seen.clone(),
        })
    }

    /// Makes a stream wait for a point in another's work.
    pub(crate) fn wait(&mut self, id: StreamId, stamp: &Stamp) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.finishes = stream.finishes.max(stamp.finishes);
        let others = stamp.seen.iter().map(|(other, position)| (*other, *position));
        for (other, position) in others.chain([(stamp.stream, stamp.position)]) {
            let seen = stream.seen.entry(other).or_default();
            *seen = position.max(*seen);
        }
    }

    /// Whether whatever the stream does next comes after that point.
    pub(crate) fn is_behind(&self, id: StreamId, stamp: &Stamp) -> bool {
        let seen = || self.streams.get(&id).and_then(|stream| stream.seen.get(&stamp.stream));
        id == stamp.stream || seen().is_some_and(|seen| *seen >= stamp.position)
    }

    /// When all work of a stream is finished.
    pub(crate) fn finishes(&self, id: StreamId) -> Option<Nanoseconds> {
        self.streams.get(&id).map(|stream| stream.finishes)
    }

    /// When all work of a context is finished.
    pub(crate) fn context_finishes(&self, context: u64) -> Nanoseconds {
        let of_context = self.streams.values().filter(|stream| stream.context == context);
        of_context.map(|stream| stream.finishes).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        let stream = |blocking| Stream::new(1, blocking, 0);
        let streams = HashMap::from([(10, stream(true)), (20, stream(true)), (30, stream(false))]);
        Timeline { streams }
    }

    #[test]
    fn work_of_one_stream_is_in_order() {
        let mut timeline = timeline();
        timeline.submit(20, 10, 100, 5);
        timeline.submit(20, 10, 101, 5);
        assert_eq!(timeline.finishes(20), Some(110));
        assert_eq!(timeline.finishes(30), Some(0));
    }

    #[test]
    fn the_legacy_stream_waits_for_blocking_streams_only() {
        let mut timeline = timeline();
        timeline.submit(20, 10, 0, 50);
        timeline.submit(30, 10, 0, 900);
        timeline.submit(10, 10, 0, 1);
        assert_eq!(timeline.finishes(10), Some(51));
        timeline.submit(20, 10, 0, 1);
        assert_eq!(timeline.finishes(20), Some(52), "and they wait for it");
    }

    #[test]
    fn waiting_reaches_through_other_streams() {
        let mut timeline = timeline();
        timeline.submit(30, 10, 0, 7);
        let freed = timeline.stamp(30).expect("it exists");
        assert!(!timeline.is_behind(20, &freed));
        timeline.wait(10, &freed);
        let second = timeline.stamp(10).expect("it exists");
        timeline.wait(20, &second);
        assert!(timeline.is_behind(20, &freed));
        assert_eq!(timeline.finishes(20), Some(7));
    }
}
