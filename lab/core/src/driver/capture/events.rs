//! Events in captures: they carry dependencies from stream to stream, and with them the capture.

use crate::{
    driver::{
        Driver, EventId, Work,
        state::{Captured, Ends},
    },
    error::{Error, Result},
    timeline::StreamId,
};

impl Driver {
    /// Records an event in a capturing stream: no node, unless it is for work outside the graph.
    pub(in crate::driver) fn capture_record(
        &mut self,
        stream: StreamId,
        event: EventId,
        external: bool,
    ) -> Result<()> {
        if external {
            return self.capture(stream, Work::Record(event)).map(drop);
        }
        let (id, capture) = self.graphs.captures.of(stream).ok_or(Error::IllegalState)?;
        let edges = capture.ends.get(&stream).map(|ends| ends.edges.clone()).unwrap_or_default();
        let captured = Captured { capture: id, edges };
        self.set_captured(event, captured)
    }

    /// Makes a stream wait for an event that was recorded in a capture: it takes part from then on.
    pub(in crate::driver) fn capture_wait(
        &mut self,
        stream: StreamId,
        captured: &Captured,
    ) -> Result<()> {
        let Captured { capture: id, edges } = captured;
        let captures = &mut self.graphs.captures;
        let Some(capture) = captures.by_id.get_mut(id) else {
            // That capture has ended.
            return Err(Error::CapturedEvent);
        };
        if !capture.valid {
            return Err(Error::StreamCaptureInvalidated);
        }
        match captures.streams.get(&stream).copied() {
            None => {
                captures.streams.insert(stream, *id);
                capture.ends.insert(stream, Ends::at(edges.clone()));
                Ok(())
            }
            Some(own) if own == *id => {
                capture.ends.entry(stream).or_default().join(edges);
                Ok(())
            }
            Some(other) => {
                self.invalidate_capture(*id);
                self.invalidate_capture(other);
                Err(Error::StreamCaptureMerge)
            }
        }
    }

    /// Refuses what cannot be done with an event that was last recorded in a capture.
    pub(in crate::driver) fn forbid_captured(&mut self, id: EventId) -> Result<()> {
        match self.captured(id)?.map(|captured| captured.capture) {
            Some(capture) => {
                self.invalidate_capture(capture);
                Err(Error::CapturedEvent)
            }
            None => Ok(()),
        }
    }
}
