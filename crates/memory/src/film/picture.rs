//! Everything that a picture of one process's memory on one device needs.

use super::{Bands, CurvePoint, FilmedMap, Gallery};
use crate::{category::Category, instant::Instant, iterations::IterationSource};
use whyoom_trace::Bytes;

/// How much a picture may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureLimits {
    /// Points of the curve; bands have an eighth of that.
    pub points: usize,
    /// Blocks that are drawn one by one.
    pub blocks: usize,
    /// Places that have a band of their own.
    pub places: usize,
}

/// Everything that a picture of one process's memory on one device needs.
#[derive(Debug, Clone)]
pub struct Picture<'a> {
    /// When history started.
    pub start: Instant,
    /// How many events there were.
    pub events: u64,
    /// How much was in use, finely.
    pub curve: Vec<CurvePoint>,
    /// What of it was of which kind.
    pub kinds: Bands<Category>,
    /// What of it was of which place.
    pub places: Bands<&'a str>,
    /// The blocks that are worth drawing.
    pub gallery: Gallery,
    /// Where everything lay, in order of time.
    pub maps: Vec<FilmedMap>,
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
