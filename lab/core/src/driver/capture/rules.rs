//! What a capture forbids. A call that breaks a rule fails, and invalidates the capture.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    driver::{
        CaptureMode, ContextId, Driver,
        state::{Capture, Captures},
    },
    error::{Error, Result},
    timeline::StreamId,
};

thread_local! {
    static MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// Sets how captures restrict the calling thread; the mode that it had.
#[must_use]
pub fn exchange_mode(mode: CaptureMode) -> CaptureMode {
    MODE.replace(mode)
}

/// A number that no other thread of the process has.
pub(super) fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Relaxed));
    }
    NUMBER.get()
}

impl Capture {
    /// Whether it forbids the calling thread what it cannot see, as documented.
    fn forbids(&self) -> bool {
        let own = self.thread == this_thread() && self.mode != CaptureMode::Relaxed;
        match MODE.get() {
            CaptureMode::Global => own || self.mode == CaptureMode::Global,
            CaptureMode::ThreadLocal => own,
            CaptureMode::Relaxed => false,
        }
    }
}

impl Captures {
    fn invalidate(&mut self, which: impl Fn(u64, &Capture) -> bool) -> bool {
        let mut any = false;
        for (id, capture) in &mut self.by_id {
            if which(*id, capture) {
                capture.valid = false;
                any = true;
            }
        }
        any
    }
}

impl Driver {
    /// Whether a stream's work is captured. An error where the capture is not valid any longer, or
    /// where the legacy stream would wait for one.
    pub(in crate::driver) fn admit(
        &mut self,
        context: ContextId,
        stream: StreamId,
    ) -> Result<bool> {
        if self.graphs.captures.by_id.is_empty() {
            return Ok(false);
        }
        if let Some((_, capture)) = self.graphs.captures.of(stream) {
            let valid = capture.valid;
            return if valid { Ok(true) } else { Err(Error::StreamCaptureInvalidated) };
        }
        let implicit: Vec<u64> = self.implicit_captures(context, stream).collect();
        if implicit.is_empty() {
            return Ok(false);
        }
        self.graphs.captures.invalidate(|id, _| implicit.contains(&id));
        Err(Error::StreamCaptureImplicit)
    }

    /// The captures that the stream, where it is the legacy one, would wait for.
    pub(super) fn implicit_captures(
        &self,
        context: ContextId,
        stream: StreamId,
    ) -> impl Iterator<Item = u64> + '_ {
        let legacy = self.contexts.get(&context).is_some_and(|state| state.legacy_stream == stream);
        let blocking = move |id: &StreamId| {
            let stream = self.timeline.streams.get(id);
            stream.is_some_and(|stream| legacy && stream.blocking && stream.context == context)
        };
        let streams = self.graphs.captures.streams.iter();
        streams.filter(move |(stream, _)| blocking(stream)).map(|(_, capture)| *capture)
    }

    /// Refuses a call that captures cannot see, where one forbids it: memory that is not ordered by
    /// a stream, synchronous copies, questions about events.
    pub fn forbid_in_capture(&mut self) -> Result<()> {
        if self.graphs.captures.invalidate(|_, capture| capture.forbids()) {
            return Err(Error::StreamCaptureUnsupported);
        }
        Ok(())
    }

    /// Refuses to wait for, or ask about, a stream that captures. Assumed: other streams are as safe
    /// or unsafe as events are.
    pub fn forbid_for_stream(&mut self, context: ContextId, stream: StreamId) -> Result<()> {
        match self.admit(context, stream) {
            Ok(true) | Err(Error::StreamCaptureInvalidated) => {
                self.invalidate_capture_of(stream);
                Err(Error::StreamCaptureUnsupported)
            }
            Ok(false) => self.forbid_in_capture(),
            Err(error) => Err(error),
        }
    }

    /// Refuses to wait for a context of which a stream captures.
    pub fn forbid_for_context(&mut self, context: ContextId) -> Result<()> {
        let timeline = &self.timeline;
        let of_context = |stream: &StreamId| {
            timeline.streams.get(stream).is_some_and(|stream| stream.context == context)
        };
        let any = self.graphs.captures.invalidate(|_, capture| capture.ends.keys().any(of_context));
        if any { Err(Error::StreamCaptureUnsupported) } else { self.forbid_in_capture() }
    }

    pub(in crate::driver) fn invalidate_capture_of(&mut self, stream: StreamId) {
        if let Some(id) = self.graphs.captures.streams.get(&stream).copied() {
            self.invalidate_capture(id);
        }
    }

    pub(super) fn invalidate_capture(&mut self, id: u64) {
        self.graphs.captures.invalidate(|known, _| known == id);
    }
}
