//! The reading side: what a recording holds, whatever became of its files.

mod block;
mod cursor;
mod definitions;
mod delivery;
mod errors;
mod folder;
mod follow;
mod info;
mod live_figures;
mod live_view;
mod losses;
mod merge;
mod modules;
mod part_file;
mod recording;
mod renumber;
mod tail;

pub use errors::{OpenError, ReadError};
pub use follow::{Follower, Unseen};
pub use info::{Ending, PartInfo};
pub use live_figures::LiveFigures;
pub use live_view::LiveView;
pub use losses::Losses;
pub use modules::{Module, Resolve, Unresolved};
pub use recording::Recording;
