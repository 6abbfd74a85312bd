//! How a session ends.

/// What ends a session beside the end of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// This signal.
    Signal(i32),
    /// Nobody reads what is answered.
    ClientGone,
    /// A message has no end.
    MessageTooLong,
}
