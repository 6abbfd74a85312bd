//! Streams, events, and waiting for them.

use std::time::Duration;

use whyoom_trace::{Action, SyncScope};

use super::{ContextId, Driver};
use crate::{
    error::{Error, Result},
    timeline::{Nanoseconds, Stamp, Stream, StreamId},
};

/// An event's handle.
pub type EventId = u64;

/// The legacy default stream has these handles, and so has the per-thread one here: one default
/// stream serves all threads of a context.
const DEFAULT_STREAMS: [StreamId; 3] = [0, 1, 2];

pub(super) struct Event {
    pub(super) context: ContextId,
    timed: bool,
    recorded: Option<Stamp>,
}

impl Driver {
    /// Makes a stream.
    pub fn create_stream(
        &mut self,
        context: ContextId,
        blocking: bool,
        priority: i32,
    ) -> Result<StreamId> {
        self.context(context)?;
        let id = self.new_handle();
        let stream = Stream::new(context, blocking, priority);
        self.timeline.streams.insert(id, stream);
        Ok(id)
    }

    /// Ends a stream; its work goes on.
    pub fn destroy_stream(&mut self, id: StreamId) -> Result<()> {
        self.timeline.streams.remove(&id).map(|_| ()).ok_or(Error::InvalidHandle)
    }

    /// The stream that a handle means in a context.
    pub fn stream(&self, context: ContextId, handle: StreamId) -> Result<StreamId> {
        if DEFAULT_STREAMS.contains(&handle) {
            return self.context(context).map(|context| context.legacy_stream);
        }
        let stream = self.timeline.streams.get(&handle).ok_or(Error::InvalidHandle)?;
        if stream.context == context { Ok(handle) } else { Err(Error::InvalidHandle) }
    }

    /// The context of a stream, whether it is non-blocking, and its priority.
    pub fn stream_facts(&self, id: StreamId) -> Result<(ContextId, bool, i32)> {
        let stream = self.timeline.streams.get(&id).ok_or(Error::InvalidHandle)?;
        Ok((stream.context, !stream.blocking, stream.priority))
    }

    /// Puts work of some length behind what a stream has.
    pub(super) fn submit(
        &mut self,
        context: ContextId,
        stream: StreamId,
        duration: Nanoseconds,
    ) -> Result<()> {
        let legacy = self.context(context)?.legacy_stream;
        let now = self.now();
        self.timeline.submit(stream, legacy, now, duration);
        Ok(())
    }

    /// Makes an event.
    pub fn create_event(&mut self, context: ContextId, timed: bool) -> Result<EventId> {
        self.context(context)?;
        let id = self.new_handle();
        self.events.insert(id, Event { context, timed, recorded: None });
        Ok(id)
    }

    /// Ends an event.
    pub fn destroy_event(&mut self, id: EventId) -> Result<()> {
        self.events.remove(&id).map(|_| ()).ok_or(Error::InvalidHandle)
    }

    fn event(&self, id: EventId) -> Result<&Event> {
        self.events.get(&id).ok_or(Error::InvalidHandle)
    }

    /// Notes where a stream stands. Documented: both must be of one context.
    pub fn record_event(&mut self, id: EventId, stream: StreamId) -> Result<()> {
        let (context, ..) = self.stream_facts(stream)?;
        if self.event(id)?.context != context {
            return Err(Error::InvalidHandle);
        }
        self.submit(context, stream, 0)?;
        let stamp = self.timeline.stamp(stream);
        if let Some(event) = self.events.get_mut(&id) {
            event.recorded = stamp;
        }
        Ok(())
    }

    /// Whether what an event stands for is finished. One that was never recorded is.
    pub fn query_event(&self, id: EventId) -> Result<()> {
        let finishes = self.event(id)?.recorded.as_ref().map_or(0, |stamp| stamp.finishes);
        self.check_finished(finishes)
    }

    /// Whether a stream has nothing left to do.
    pub fn query_stream(&self, id: StreamId) -> Result<()> {
        self.check_finished(self.timeline.finishes(id).ok_or(Error::InvalidHandle)?)
    }

    fn check_finished(&self, finishes: Nanoseconds) -> Result<()> {
        if finishes <= self.now() { Ok(()) } else { Err(Error::NotReady) }
    }

    /// Makes a stream wait for an event.
    pub fn wait_event(&mut self, stream: StreamId, event: EventId) -> Result<()> {
        let recorded = self.event(event)?.recorded.clone();
        if let Some(stamp) = recorded {
            self.timeline.wait(stream, &stamp);
        }
        Ok(())
    }

    /// Milliseconds between two events.
    pub fn elapsed(&self, start: EventId, end: EventId) -> Result<f32> {
        let finished = |id| {
            let event = self.event(id)?;
            let stamp = event.recorded.as_ref().filter(|_| event.timed);
            let finishes = stamp.ok_or(Error::InvalidHandle)?.finishes;
            self.check_finished(finishes).map(|()| finishes)
        };
        Ok((finished(end)? as f64 - finished(start)? as f64) as f32 / 1e6)
    }

    /// How long to wait for a stream.
    pub fn until_stream(&self, id: StreamId) -> Result<Duration> {
        self.timeline.finishes(id).map(|at| self.until(at)).ok_or(Error::InvalidHandle)
    }

    /// How long to wait for an event.
    pub fn until_event(&self, id: EventId) -> Result<Duration> {
        let finishes = self.event(id)?.recorded.as_ref().map_or(0, |stamp| stamp.finishes);
        Ok(self.until(finishes))
    }

    /// How long to wait for everything in a context.
    #[must_use]
    pub fn until_context(&self, context: ContextId) -> Duration {
        self.until(self.timeline.context_finishes(context))
    }

    fn until(&self, finishes: Nanoseconds) -> Duration {
        Duration::from_nanos(finishes.saturating_sub(self.now()))
    }

    /// How long a synchronize takes at least, by a fault on demand.
    #[must_use]
    pub fn synchronize_delay(&self) -> Duration {
        Duration::from_nanos(self.machine.synchronize_nanoseconds())
    }

    /// The end of a wait: pools give back what they may not keep, and a kernel that failed shows.
    pub fn synchronized(&mut self, context: ContextId, scope: SyncScope) -> Result<()> {
        let device = self.device_of(context)?;
        self.release_above_thresholds(device);
        let outcome = self.show_failure(context);
        self.note(self.place(context), &outcome, Action::Synchronize { scope });
        outcome
    }

    /// Waiting for the device shows that a kernel failed; the context is unusable from then on.
    pub fn show_failure(&mut self, context: ContextId) -> Result<()> {
        let state = self.context_mut(context)?;
        state.broken = state.broken.or(state.failing.take());
        state.broken.map_or(Ok(()), Err)
    }

    /// The context that an event was made in.
    pub fn event_context(&self, id: EventId) -> Result<ContextId> {
        self.event(id).map(|event| event.context)
    }
}
