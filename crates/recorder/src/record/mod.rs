//! Recording: what a hook does around the real call.
//!
//! Hooks call it; it knows none of them. What it asks of those above it is in `Callbacks`.
//!
//! - `prepare`, `after_fork`, `end`: the recording of the process.
//! - `enter`, then `before` and `after` of `Call`: one call of the program's.
//! - `allocated`, `freeing`, `freed`, `failed`, `note`, `write` of `Call`: what is recorded of it.
//! - `PerProcess`: what a family of hooks keeps.
//!
//! Everything here fails open. A call is recorded or it is not; the program's own call is made
//! either way, once, and its result is not touched. A panic or a refusal of the recording's folder
//! ends recording for this process, with one line on standard error.

mod call;
pub(crate) mod clock;
mod current_context;
mod environment;
mod errors;
mod event;
mod fault;
mod holdings;
mod ledger;
mod location;
mod memory;
mod modules;
mod moment;
mod names;
mod part;
mod per_process;
mod process;
mod scratch;
mod settings;
mod stacks;
mod stand_in;
mod standard_error;
mod thread;

pub(crate) use self::{
    call::{Call, enter, is_inside, look_up},
    current_context::context_ended,
    errors::{Cause, cause_of},
    event::NO_STACK,
    ledger::Held,
    location::{Location, MOST_DEVICES, device_of},
    moment::device_says,
    part::{is_on, out_of_memory},
    per_process::PerProcess,
    process::{Callbacks, PoolFacts, Process, after_fork, end, prepare},
    thread::module_cell,
};
