//! What stands for stacks that ring mode has no room for: definitions are never dropped, and a program that makes ever
//! new code would have ever more of them.

use std::sync::OnceLock;

use whyoom_recording::{Definition, Part, RawFrame};
use whyoom_trace::StackId;

use super::names::{Names, define};

/// What people read in place of a stack.
const FUNCTION: &str = "(more different stacks than --limit has room for)";

/// The stack that stands for others, once there is one.
#[derive(Default)]
pub(super) struct StandIn(OnceLock<StackId>);

impl StandIn {
    /// The stack to name in place of a new one, which `free` would be the number of; nothing as long as there is room.
    pub(super) fn instead_of(&self, free: StackId, part: &Part, names: &Names) -> Option<StackId> {
        if part.has_room() {
            return None;
        }
        part.stood_in();
        Some(*self.0.get_or_init(|| {
            let function = names.string(part, FUNCTION.as_bytes());
            let frame = names.frame(part, function, whyoom_trace::StringId(0), 0);
            define(part, Definition::Stack { id: free, frames: &[RawFrame::Named(frame)] });
            free
        }))
    }
}
