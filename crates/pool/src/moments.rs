//! Points in streams, each an event that is used again once nobody needs it.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use crate::{
    driver::{Driver, Event, Stream},
    sync::{AtomicBool, Lock},
};

/// Events that nobody needs.
#[derive(Debug, Default)]
pub(crate) struct Events(Lock<Vec<Event>>);

impl Events {
    /// The device was reset: they are gone.
    pub(crate) fn forget(&self) {
        self.0.lock().clear();
    }
}

/// Everything that a stream was given up to here.
pub(crate) struct Moment {
    event: Option<Event>,
    passed: AtomicBool,
    events: Arc<Events>,
}

impl Moment {
    /// Now, on that stream. Where the driver cannot mark it (the stream is another device's, say), it is
    /// waited for instead: what comes back has passed.
    pub(crate) fn now(driver: &dyn Driver, events: &Arc<Events>, stream: Stream) -> Arc<Self> {
        let unused = events.0.lock().pop();
        let event = unused.map_or_else(|| driver.event(), Ok);
        let marked = event.and_then(|event| {
            driver
                .record(event, stream)
                .map(|()| event)
                .inspect_err(|_| events.0.lock().push(event))
        });
        if marked.is_err() && driver.finish(stream).is_err() {
            let _ = driver.synchronize();
        }
        let event = marked.ok();
        let passed = AtomicBool::new(event.is_none());
        Arc::new(Self { event, passed, events: Arc::clone(events) })
    }

    /// Whether it has passed.
    pub(crate) fn has_passed(&self, driver: &dyn Driver) -> bool {
        if self.passed.load(Relaxed) {
            return true;
        }
        let passed = self.event.is_none_or(|event| driver.has_passed(event).unwrap_or(false));
        self.passed.store(passed, Relaxed);
        passed
    }

    /// Waits until it has passed.
    pub(crate) fn wait(&self, driver: &dyn Driver) {
        if self.has_passed(driver) {
            return;
        }
        let waited = self.event.map_or(Ok(()), |event| driver.wait(event));
        if waited.is_err() {
            // A device that has failed does nothing any more: there is nothing to wait for.
            let _ = driver.synchronize();
        }
        self.passed.store(true, Relaxed);
    }

    /// Lets a stream wait for it. Where that cannot be, the host waits.
    pub(crate) fn order(&self, driver: &dyn Driver, stream: Stream) {
        if self.has_passed(driver) {
            return;
        }
        if self.event.is_some_and(|event| driver.order(stream, event).is_err()) {
            self.wait(driver);
        }
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        if let Some(event) = self.event {
            self.events.0.lock().push(event);
        }
    }
}
