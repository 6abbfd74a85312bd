//! Memory over time, rebuilt from events alone.
//!
//! [`Model`] takes events in one pass and keeps what is live, never what has been: its size follows
//! the live set, not the length of the run. It reads no file and knows no source.

mod address_map;
mod block;
mod category;
mod driver;
mod free_space;
mod growth;
mod incident;
mod iterations;
mod model;
mod peak;
mod place;
mod profile;
mod segments;
mod space;
mod sums;
mod timeline;

pub use address_map::MappedSegment;
pub use block::{LiveBlock, Usage};
pub use category::Category;
pub use free_space::{FreeSpace, Pin};
pub use growth::{GrowingStack, Growth};
pub use incident::Incident;
pub use iterations::IterationSource;
pub use model::Model;
pub use place::{place, sums_by_place};
pub use profile::Phase;
pub use segments::Segment;
pub use space::{Space, Totals};
pub use timeline::{Moment, Point, Timeline};
