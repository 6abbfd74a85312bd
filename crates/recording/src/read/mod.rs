//! The reading side: what a recording holds, whatever became of its files.

mod block;
mod cursor;
mod definitions;
mod delivery;
mod errors;
mod folder;
#[cfg(target_os = "linux")]
mod follow;
mod info;
#[cfg(target_os = "linux")]
mod live_figures;
#[cfg(target_os = "linux")]
mod live_view;
mod losses;
mod merge;
mod modules;
mod part_file;
mod recording;
mod renumber;
#[cfg(target_os = "linux")]
mod tail;

pub use errors::{OpenError, ReadError};
pub use info::{Ending, PartInfo};
pub use losses::Losses;
pub use modules::{Module, Resolve, Unresolved};
pub use recording::Recording;
#[cfg(target_os = "linux")]
pub use {
    follow::{Follower, Unseen},
    live_figures::LiveFigures,
    live_view::LiveView,
};
