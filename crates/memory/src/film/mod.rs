//! What a picture of a run needs, kept while the run passes by, in bounded memory whatever its length.
//!
//! Only a model that is asked to ([`crate::Model::filmed`]) keeps it: a verdict needs none of it.

mod bands;
mod curve;
mod gallery;
mod maps;
mod peak_segments;
mod picture;
mod places;
mod runs;

pub use self::{
    bands::{Band, Bands},
    curve::CurvePoint,
    gallery::{BlockLife, Gallery},
    maps::{FilmedMap, MapMoment},
    picture::{IterationStarts, Picture, PictureLimits},
    runs::{BlockRun, SegmentRuns},
};
pub(crate) use self::{maps::Maps, peak_segments::SegmentChange, places::Places};

use whyoom_trace::{Address, Bytes, Tables};

use self::{bands::BandSeries, curve::Curve, gallery::Lives};
use crate::{
    block::LiveBlock, category::Category, instant::Instant, layer::Totals, sums::LiveSums,
};

/// A curve is told so many times as finely as bands.
const CURVE_POINTS_A_BAND: usize = 8;

/// What a picture of one layer needs: how much was in use when, of what, and which blocks these were.
#[derive(Debug, Default)]
pub(crate) struct Film {
    /// When history started.
    start: Instant,
    started: bool,
    events: u64,
    curve: Curve,
    bands: BandSeries,
    lives: Lives,
    /// Blocks that ended with the event that is under way: when that is, comes last.
    ended: Vec<(Address, LiveBlock)>,
}

impl Film {
    /// Takes the end of a block.
    pub(crate) fn ended(&mut self, address: Address, block: LiveBlock) {
        self.ended.push((address, block));
    }

    /// Takes the present, at the end of an event.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        totals: Totals,
        sums: &LiveSums,
        (places, tables): (&mut Places, &Tables),
    ) {
        if !std::mem::replace(&mut self.started, true) {
            self.start = now;
        }
        self.events += 1;
        for (address, block) in self.ended.drain(..) {
            let life = BlockLife::of(address, &block, self.start);
            self.lives.ended(BlockLife { died: Some(now), ..life });
        }
        self.curve.note(now, totals);
        self.bands.note(now, sums, places, tables);
    }

    /// When it starts, and how many events it saw.
    pub(crate) fn extent(&self) -> (Instant, u64) {
        (self.start, self.events)
    }

    pub(crate) fn curve(&self, limits: PictureLimits) -> Vec<CurvePoint> {
        self.curve.points(limits.points)
    }

    pub(crate) fn kinds(&self, limits: PictureLimits) -> Bands<Category> {
        self.bands.kinds(limits.points / CURVE_POINTS_A_BAND)
    }

    pub(crate) fn places<'a>(&self, places: &'a Places, limits: PictureLimits) -> Bands<&'a str> {
        self.bands.places(places, limits.places, limits.points / CURVE_POINTS_A_BAND)
    }

    /// The blocks worth drawing, with those that are live at the end.
    pub(crate) fn gallery<'a>(
        &self,
        live: impl Iterator<Item = (Address, &'a LiveBlock)>,
        most: usize,
    ) -> Gallery {
        let live = live.map(|(address, block)| BlockLife::of(address, block, self.start));
        self.lives.gallery(live.collect(), most)
    }
}

/// Of so many points every so manyth is at most `most` of them.
fn stride(points: usize, most: usize) -> usize {
    points.div_ceil(most.max(1)).max(1)
}

/// What one amount has, where it may have changed within a stretch.
fn widen((lowest, highest): (Bytes, Bytes), by: (Bytes, Bytes)) -> (Bytes, Bytes) {
    (lowest.min(by.0), highest.max(by.1))
}
