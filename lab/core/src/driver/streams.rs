//! Streams, events, and waiting for them.

use std::time::Duration;

use whyoom_trace::{Action, SyncScope};

use super::{
    ContextId, Driver, EventId, Work,
    state::{Captured, Event},
};
use crate::{
    error::{Error, Result},
    timeline::{Nanoseconds, Stamp, Stream, StreamId},
};

/// The legacy default stream has these handles, and so has the per-thread one here: one default
/// stream serves all threads of a context.
const DEFAULT_STREAMS: [StreamId; 3] = [0, 1, 2];

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
        self.invalidate_capture_of(id);
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
        let event = Event { context, timed, recorded: None, captured: None, shared: None };
        self.events.insert(id, event);
        Ok(id)
    }

    /// Ends an event.
    pub fn destroy_event(&mut self, id: EventId) -> Result<()> {
        let event = self.events.remove(&id).ok_or(Error::InvalidHandle)?;
        self.end_moment(event.shared);
        Ok(())
    }

    pub(super) fn event(&self, id: EventId) -> Result<&Event> {
        self.events.get(&id).ok_or(Error::InvalidHandle)
    }

    pub(super) fn event_mut(&mut self, id: EventId) -> Result<&mut Event> {
        self.events.get_mut(&id).ok_or(Error::InvalidHandle)
    }

    pub(super) fn captured(&self, id: EventId) -> Result<Option<Captured>> {
        self.event(id).map(|event| event.captured.clone())
    }

    pub(super) fn set_captured(&mut self, id: EventId, captured: Captured) -> Result<()> {
        self.event_mut(id)?.captured = Some(captured);
        Ok(())
    }

    /// When what an event stands for is finished.
    fn event_finishes(&self, id: EventId) -> Result<Nanoseconds> {
        let event = self.event(id)?;
        if let Some(shared) = &event.shared {
            return Ok(self.on_own_clock(shared.get()));
        }
        Ok(event.recorded.as_ref().map_or(0, |stamp| stamp.finishes))
    }

    /// Notes where a stream stands, or in a capture, where the capture does. Documented: both must
    /// be of one context.
    pub fn record(&mut self, id: EventId, stream: StreamId, external: bool) -> Result<()> {
        let (context, ..) = self.stream_facts(stream)?;
        if self.event(id)?.context != context {
            return Err(Error::InvalidHandle);
        }
        if self.admit(context, stream)? {
            return self.capture_record(stream, id, external);
        }
        self.record_event(id, stream)
    }

    /// Notes where a stream stands.
    pub fn record_event(&mut self, id: EventId, stream: StreamId) -> Result<()> {
        let (context, ..) = self.stream_facts(stream)?;
        if self.event(id)?.context != context {
            return Err(Error::InvalidHandle);
        }
        self.submit(context, stream, 0)?;
        let stamp = self.timeline.stamp(stream);
        let finishes = self.on_shared_clock(stamp.as_ref().map_or(0, |stamp| stamp.finishes));
        let event = self.event_mut(id)?;
        if let Some(shared) = &event.shared {
            shared.set(finishes);
        }
        event.recorded = stamp;
        event.captured = None;
        Ok(())
    }

    /// Whether what an event stands for is finished. One that was never recorded is.
    pub fn query_event(&mut self, id: EventId) -> Result<()> {
        self.forbid_captured(id)?;
        self.check_finished(self.event_finishes(id)?)
    }

    /// Whether a stream has nothing left to do.
    pub fn query_stream(&self, id: StreamId) -> Result<()> {
        self.check_finished(self.timeline.finishes(id).ok_or(Error::InvalidHandle)?)
    }

    fn check_finished(&self, finishes: Nanoseconds) -> Result<()> {
        if finishes <= self.now() { Ok(()) } else { Err(Error::NotReady) }
    }

    /// Makes a stream wait for an event, in or out of a capture. Documented: a capture waits for what
    /// is outside only where the wait says so.
    pub fn wait(&mut self, stream: StreamId, event: EventId, external: bool) -> Result<()> {
        let (context, ..) = self.stream_facts(stream)?;
        let captured = self.captured(event)?;
        let capturing = self.admit(context, stream)?;
        if external && capturing {
            return self.enqueue(context, stream, Work::Wait(event)).map(drop);
        }
        if let Some(captured) = captured {
            return self.capture_wait(stream, &captured);
        }
        if capturing && self.event(event)?.recorded.is_some() {
            self.invalidate_capture_of(stream);
            return Err(Error::StreamCaptureIsolation);
        }
        self.wait_event(stream, event)
    }

    /// Makes a stream wait for an event.
    pub fn wait_event(&mut self, stream: StreamId, event: EventId) -> Result<()> {
        let known = self.event(event)?;
        let stamp = match (&known.recorded, &known.shared) {
            (_, Some(_)) => Some(Stamp::at(self.event_finishes(event)?)),
            (recorded, None) => recorded.clone(),
        };
        if let Some(stamp) = stamp {
            self.timeline.wait(stream, &stamp);
        }
        Ok(())
    }

    /// Milliseconds between two events.
    pub fn elapsed(&mut self, start: EventId, end: EventId) -> Result<f32> {
        self.forbid_captured(start)?;
        self.forbid_captured(end)?;
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
    pub fn until_event(&mut self, id: EventId) -> Result<Duration> {
        self.forbid_captured(id)?;
        Ok(self.until(self.event_finishes(id)?))
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
