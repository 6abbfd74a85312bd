//! How events travel: a source pushes them, one at a time, into whatever takes them.

use crate::{event::Event, tables::Tables};

/// Takes events in the order they happened.
///
/// `tables` holds every id that the event names; the source may add to it between two calls, never
/// change what is there. Nothing obliges a sink to keep an event, and none may need the whole
/// history: a recording can be longer than memory.
pub trait EventSink {
    /// Takes one event.
    fn event(&mut self, event: &Event, tables: &Tables);
}

/// Keeps every event: for tests and for short traces.
impl EventSink for Vec<Event> {
    fn event(&mut self, event: &Event, _: &Tables) {
        self.push(*event);
    }
}
