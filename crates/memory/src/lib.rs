//! Memory over time, rebuilt from events alone.
//!
//! [`Model`] takes events in one pass and keeps what is live, never what has been: its size follows
//! the live set, not the length of the run. It reads no file and knows no source.

mod address_map;
mod block;
mod by_stack;
mod category;
mod driver;
mod film;
mod free_space;
mod growth;
mod holder;
mod incident;
mod instant;
mod interface;
mod iterations;
mod layer;
mod lines;
mod live;
mod model;
mod occasion;
mod peak;
mod place;
mod pools;
mod process;
mod profile;
mod segments;
mod series;
mod sites;
mod space;
mod sums;
mod survivors;
mod timeline;
mod trend;
mod virtual_memory;
mod work;

pub use address_map::MappedSegment;
pub use block::{LiveBlock, Usage};
pub use category::Category;
pub use driver::DriverMemory;
pub use film::{
    Band, Bands, BlockLife, BlockRun, CurvePoint, FilmedMap, Gallery, IterationStarts, MapMoment,
    Picture, PictureLimits, SegmentRuns,
};
pub use free_space::{FreeSpace, Pin};
pub use growth::{GrowingStack, Growth, Hold};
pub use holder::Holder;
pub use incident::{DriverState, Incident};
pub use instant::Instant;
pub use interface::Interface;
pub use iterations::IterationSource;
pub use layer::{Layer, Totals};
pub use live::{LivePlace, LiveSum, live_places};
pub use model::Model;
pub use place::{library, place, sums_by_place};
pub use pools::{PoolFigures, PoolState};
pub use process::{Contexts, FailedCall, Failure, Process};
pub use profile::Phase;
pub use segments::Segment;
pub use sites::Site;
pub use space::Space;
pub use timeline::{Moment, Point, Timeline};
pub use virtual_memory::{VirtualMemory, handle_key};
pub use work::Work;
