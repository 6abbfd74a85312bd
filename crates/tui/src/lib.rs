//! `whyoom top`: a live view of devices and the processes on them.
//!
//! [`run()`] takes whatever makes reports; [`once()`] turns one report into a page of text. The state knows
//! nothing of terminals, the views only turn it into lines, and both are tested without one.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod error;
mod events;
mod fitting;
mod keys;
mod once;
mod run;
mod sampler;
mod screen;
mod send;
mod state;
#[cfg(test)]
mod tests;
mod theme;
mod views;
mod wording;

pub use error::TopError;
pub use once::once;
pub use run::{Ended, Options, run};
pub use theme::Theme;
