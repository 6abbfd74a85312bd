//! What every family of messages tells of itself.

use crate::oom_text::{message::Message, window::Window};

/// A family of messages.
pub(in crate::oom_text) struct Format {
    /// Words that its messages contain; the window given to `parse` starts at one of them.
    pub(in crate::oom_text) anchors: &'static [&'static str],
    /// Reads the message, if it is one.
    pub(in crate::oom_text) parse: fn(&Window<'_>) -> Option<Message>,
}
