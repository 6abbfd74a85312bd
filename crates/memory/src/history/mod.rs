//! What a picture of a run needs, kept while the run passes by, in bounded memory whatever its length.
//!
//! Only a model that is asked to ([`crate::Model::with_history`]) keeps it: a verdict needs none of it.

mod bands;
mod call_sites;
mod curve;
mod maps;
mod peak_segments;
mod retained_blocks;
mod runs;
mod thinning;
mod timeline_data;

pub use self::{
    bands::{Band, Bands},
    curve::CurvePoint,
    maps::{AddressMapAt, MapMoment},
    retained_blocks::{BlockLife, RetainedBlocks},
    runs::{BlockRun, SegmentRuns},
    timeline_data::{IterationStarts, TimelineData, TimelineLimits},
};
pub(crate) use self::{call_sites::CallSites, maps::Maps, peak_segments::SegmentChange};

use whyoom_trace::{Address, Tables};

use self::{bands::BandSeries, curve::Curve, retained_blocks::Lives};
use crate::{
    block::LiveBlock, category::Category, instant::Instant, sums::LiveSums, totals::Totals,
};

/// A curve is told so many times as finely as bands.
const CURVE_POINTS_A_BAND: usize = 8;

/// What a picture of one layer needs: how much was in use when, of what, and which blocks these were.
#[derive(Debug, Default)]
pub(crate) struct History {
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

impl History {
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
        (call_sites, tables): (&mut CallSites, &Tables),
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
        self.bands.note(now, sums, call_sites, tables);
    }

    /// When it starts, and how many events it saw.
    pub(crate) fn extent(&self) -> (Instant, u64) {
        (self.start, self.events)
    }

    pub(crate) fn curve(&self, limits: TimelineLimits) -> Vec<CurvePoint> {
        self.curve.points(limits.points)
    }

    pub(crate) fn kinds(&self, limits: TimelineLimits) -> Bands<Category> {
        self.bands.kinds(limits.points / CURVE_POINTS_A_BAND)
    }

    pub(crate) fn call_sites<'a>(
        &self,
        call_sites: &'a CallSites,
        limits: TimelineLimits,
    ) -> Bands<&'a str> {
        self.bands.call_sites(call_sites, limits.call_sites, limits.points / CURVE_POINTS_A_BAND)
    }

    /// The blocks worth drawing, with those that are live at the end.
    pub(crate) fn retained_blocks<'a>(
        &self,
        live: impl Iterator<Item = (Address, &'a LiveBlock)>,
        most: usize,
    ) -> RetainedBlocks {
        let live = live.map(|(address, block)| BlockLife::of(address, block, self.start));
        self.lives.retained_blocks(live.collect(), most)
    }
}
