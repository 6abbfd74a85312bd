//! An event, made of what a hook knows.

use whyoom_trace::{Action, ContextId, Event, Origin, ResultCode, StackId, StreamId, Time};

use super::location::Location;
use crate::result_code::Code;

/// The empty stack. What gives memory back is recorded without one: who took it is what is asked.
pub(crate) const NO_STACK: StackId = StackId(0);

/// The event, in no pool.
#[inline]
pub(super) fn event(
    time: u64,
    location: Location,
    stack: StackId,
    result: Code,
    action: Action,
) -> Event {
    let origin = Origin {
        device: location.device,
        context: ContextId(location.context as u32),
        stream: StreamId(location.stream),
        ..Origin::default()
    };
    Event { time: Time(time), origin, stack, result: ResultCode(result as i32), action }
}
