//! A stack as it is captured: raw frames, in the room that there is for them.

/// The most frames of a stack.
pub const MAX_FRAMES: usize = 128;

/// A frame as it is captured: a number or two, to be named later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Raw {
    /// An address inside the call instruction, as symbolizers want it.
    Native(u64),
    /// A Python code object and the byte offset of the instruction in it. Its name must be asked
    /// with [`crate::Capturer::python_frame`] before the frame is left.
    Python {
        /// The code object's address.
        code: usize,
        /// Bytes from the start of its instructions, or −1 before the first.
        position: i32,
    },
}

/// Where a walk over native frames ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// At the outermost frame.
    Outermost,
    /// At a frame of the Python interpreter.
    Python,
    /// Somewhere in between: the unwind tables or the room ran out.
    Lost,
}

/// The frames written so far.
pub(crate) struct Frames<'a> {
    pub(crate) room: &'a mut [Raw; MAX_FRAMES],
    pub(crate) count: usize,
}

impl Frames<'_> {
    /// Whether there was room.
    #[inline]
    pub(crate) fn push(&mut self, frame: Raw) -> bool {
        let Some(slot) = self.room.get_mut(self.count) else { return false };
        *slot = frame;
        self.count += 1;
        true
    }

    pub(crate) fn pop(&mut self) {
        self.count = self.count.saturating_sub(1);
    }
}
