//! Doing work at once, or capturing it.

use super::{Box3, ContextId, Driver, Fill, Launch, Side, Work};
use crate::{
    error::{Error, Result},
    timeline::StreamId,
};

impl Driver {
    /// Does work on a stream, or makes a node of it where the stream captures. Calls of the program's
    /// are the caller's to make: true where the work was done rather than captured.
    pub fn enqueue(&mut self, context: ContextId, stream: StreamId, work: Work) -> Result<bool> {
        let stream = self.stream(context, stream)?;
        if self.admit(context, stream)? {
            if let Work::Kernel(launch) = &work {
                self.check_launch_of(context, stream, launch)?;
                // Code is loaded when a launch is first asked for, captured or not (assumed).
                self.load_code(context, launch.function)?;
            }
            self.capture(stream, work)?;
            return Ok(false);
        }
        self.perform(context, stream, &work)?;
        Ok(true)
    }

    /// Does work that is neither a graph nor memory.
    pub(super) fn perform(
        &mut self,
        context: ContextId,
        stream: StreamId,
        work: &Work,
    ) -> Result<()> {
        match work {
            Work::Kernel(launch) => self.launch(context, &Launch { stream, ..*launch }),
            Work::Copy(copy) => self.copy_box(context, copy, stream),
            Work::Fill(fill) => self.fill_box(context, fill, stream),
            Work::Host(_) | Work::Empty => self.submit(context, stream, 0),
            Work::Wait(event) => self.wait_event(stream, *event),
            Work::Record(event) => self.record_event(*event, stream),
            Work::Child(_) | Work::Alloc(_) | Work::Free(_) | Work::Conditional(_) => {
                Err(Error::NotSupported)
            }
        }
    }

    fn copy_box(&mut self, context: ContextId, copy: &Box3, stream: StreamId) -> Result<()> {
        let Box3 { target, source, width, height, depth } = *copy;
        if width == 0 || height == 0 {
            return Ok(());
        }
        for slice in 0..depth {
            let start = |side: Side| {
                let distance = side.slice.checked_mul(slice).ok_or(Error::InvalidValue)?;
                side.start.checked_add(distance).ok_or(Error::InvalidValue)
            };
            let (to, from) = ((start(target)?, target.pitch), (start(source)?, source.pitch));
            self.copy_rows(context, to, from, (width, height), stream)?;
        }
        Ok(())
    }

    fn fill_box(&mut self, context: ContextId, fill: &Fill, stream: StreamId) -> Result<()> {
        if !matches!(fill.element, 1 | 2 | 4) {
            return Err(Error::InvalidValue);
        }
        let bytes = fill.value.to_le_bytes();
        let pattern = &bytes[..fill.element as usize];
        let size = (fill.width, fill.height);
        self.fill_rows(context, (fill.target, fill.pitch), pattern, size, stream)
    }
}
