//! Everything that a picture of one process's memory on one device needs.

use super::{AddressMapAt, Bands, CurvePoint, RetainedBlocks};
use crate::{category::Category, instant::Instant, iterations::IterationSource};
use whyoom_trace::Bytes;

/// How much a picture may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineLimits {
    /// Points of the curve; bands have an eighth of that.
    pub points: usize,
    /// Blocks that are drawn one by one.
    pub blocks: usize,
    /// CallSites that have a band of their own.
    pub call_sites: usize,
}

/// Everything that a picture of one process's memory on one device needs.
#[derive(Debug, Clone)]
pub struct TimelineData<'a> {
    /// When history started.
    pub start: Instant,
    /// How many events there were.
    pub events: u64,
    /// How much was in use, finely.
    pub curve: Vec<CurvePoint>,
    /// What of it was of which kind.
    pub kinds: Bands<Category>,
    /// What of it was of which call site.
    pub call_sites: Bands<&'a str>,
    /// The blocks that are worth drawing.
    pub retained_blocks: RetainedBlocks,
    /// Where everything lay, in order of time.
    pub maps: Vec<AddressMapAt>,
    /// When iterations began.
    pub iterations: Option<IterationStarts>,
}

/// When iterations began; of very many, every so manyth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationStarts {
    /// How they were found.
    pub source: IterationSource,
    /// One is told of so many.
    pub every: u64,
    /// When each began, and what was in use then.
    pub begun: Vec<(Instant, Bytes)>,
}
