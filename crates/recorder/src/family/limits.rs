//! Limits of contexts.

use whyoom_trace::{Action, Limit};

use crate::declare::hooks;

hooks! { Contexts;
    Required (limit: u32, value: usize)
    [cuCtxSetLimit = "cuCtxSetLimit" since 3010]
    after { |call, (), result| if result == 0 && let Some(limit) = limit_of(limit) {
        call.note(call.here(), result, Action::LimitSet { limit, value: value as u64 });
    } }
}

/// The documented limits that take device memory.
fn limit_of(number: u32) -> Option<Limit> {
    match number {
        0 => Some(Limit::Stack),
        1 => Some(Limit::Printf),
        2 => Some(Limit::DeviceHeap),
        _ => None,
    }
}
