//! The flight recorder: the whole run in one model, while ring mode drops the events behind it.
//!
//! [`Flight`] reads a recording while it is written, in another process than the program, and hands every event to
//! one [`whyoom_memory::Model`]: what that keeps follows the live set and not the length of the run. [`Checkpoint`]
//! is that model as a file in the recording's folder, for whoever asks later, or while the program runs.

mod about;
mod checkpoint;
#[cfg(target_os = "linux")]
mod flight;
mod watching;

pub use about::About;
pub use checkpoint::{CHECKPOINT, Checkpoint, Unusable};
#[cfg(target_os = "linux")]
pub use flight::Flight;
