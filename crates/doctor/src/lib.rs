//! Tests of this machine: what whyoom meets here, and what that means for its commands.
//!
//! Each check runs in a process of its own with a time limit ([`examine()`]): a driver that hangs or kills who asks it is
//! a result, too. Whoever adds a check adds a file to `checks` and a line to its table.

#[cfg(target_os = "linux")]
mod checks;
#[cfg(target_os = "linux")]
mod examine;
mod machine;
mod measured;
mod outcome;
mod report;
#[cfg(target_os = "linux")]
mod surroundings;

#[cfg(target_os = "linux")]
pub use checks::{CHECKS, Check, take_memory};
#[cfg(target_os = "linux")]
pub use examine::examine;
pub use machine::{CallTimes, Machine, MachineError};
pub use measured::MeasuredGpu;
pub use outcome::{Outcome, Status};
pub use report::{Checked, Report};
#[cfg(target_os = "linux")]
pub use surroundings::advice;
