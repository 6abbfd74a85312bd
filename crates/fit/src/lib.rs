//! Whether a recorded run fits on a device, and up to which value of a parameter it does.
//!
//! A run on a device without a limit tells what the program asks for. [`Demand`] is what that takes,
//! [`place`] replays it on a device of a given size, [`Samples`] predicts runs that were not made from
//! two that were, [`continued`] continues one that was ended, and [`Grid`] decides which runs to make next.

mod continuation;
mod demand;
mod direction;
mod extrapolation;
mod grid;
mod placement;
mod range;
mod row;
mod samples;
mod search;

pub use continuation::{Continued, continued};
pub use demand::Demand;
pub use extrapolation::between;
pub use grid::{Edge, Grid};
pub use placement::{Placement, Room, place, served};
pub use range::Range;
pub use samples::{Sample, Samples};
