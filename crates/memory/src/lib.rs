//! Memory over time, rebuilt from events alone.
//!
//! [`Model`] takes events in one pass and keeps what is live, never what has been: its size follows
//! the live set, not the length of the run. It reads no file and knows no source.

mod address_map;
mod block;
mod by_stack;
mod call_site;
mod category;
mod change;
mod driver;
mod event_counts;
mod free_space;
mod growth;
mod history;
mod holder;
mod incident;
mod instant;
mod interface;
mod iterations;
mod known_code;
mod layer;
mod lines;
mod live;
mod live_copy;
mod model;
mod module_sums;
mod peak;
mod pending_samples;
mod pools;
mod process;
mod profile;
mod segments;
mod series;
mod signs;
mod sites;
mod space;
mod spaces;
mod steady;
mod sums;
mod survivors;
mod timeline;
mod totals;
mod trend;
mod virtual_memory;

pub use address_map::MappedSegment;
pub use block::{LiveBlock, Usage};
pub use call_site::{
    SourceLine, UNKNOWN_CALL_SITE, call_site, is_library_file, library, source_line,
    sums_by_call_site,
};
pub use category::Category;
pub use change::{Change, LayerKind, Step};
pub use driver::DriverMemory;
pub use event_counts::EventCounts;
pub use free_space::{FreeSpace, Pin};
pub use growth::{GrowingStack, Growth, Retention};
pub use history::{
    AddressMapAt, Band, Bands, BlockLife, BlockRun, CurvePoint, IterationStarts, MapMoment,
    RetainedBlocks, SegmentRuns, TimelineData, TimelineLimits,
};
pub use holder::Holder;
pub use incident::{DriverState, Incident};
pub use instant::Instant;
pub use interface::Interface;
pub use iterations::IterationSource;
pub use layer::Layer;
pub use live::{LiveCallSite, LiveSum, live_call_sites};
pub use model::Model;
pub use module_sums::{ModuleSum, module_sums};
pub use pools::{PoolFigures, PoolState};
pub use process::{Contexts, FailedCall, Failure, Process};
pub use segments::Segment;
pub use signs::Phase;
pub use sites::Site;
pub use space::Space;
pub use timeline::{Moment, Point, Timeline};
pub use totals::Totals;
