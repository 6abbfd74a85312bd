//! What a picture of a space needs, where one was asked for.

use super::Space;
use crate::{
    address_map::{MappedSegment, address_map, stretches},
    history::{
        AddressMapAt, CallSites, IterationStarts, MapMoment, Maps, TimelineData, TimelineLimits,
    },
    instant::Instant,
    iterations::Boundary,
};

/// Fewer iterations are none.
const FEWEST_ITERATIONS: usize = 2;

impl Space {
    /// What a picture needs. Whether the whole run was recorded decides what counts as an iteration.
    pub(crate) fn timeline_data<'a>(
        &self,
        call_sites: &'a CallSites,
        whole: bool,
        limits: TimelineLimits,
    ) -> Option<TimelineData<'a>> {
        let (layer, maps) = (self.layer(), self.maps.as_ref()?);
        let history = layer.history()?;
        let (start, events) = history.extent();
        let curve = history.curve(limits);
        let end = curve.last().map_or(start, |point| point.end);
        let iterations = layer.iterations().by_trust(FEWEST_ITERATIONS, whole).next();
        let iterations = iterations.map(|(source, boundaries)| {
            let begin = |boundary: &Boundary| (boundary.at, boundary.allocated);
            let begun = boundaries.kept().iter().map(begin).collect();
            IterationStarts { source, every: boundaries.stride(), begun }
        });
        Some(TimelineData {
            start,
            events,
            kinds: history.kinds(limits),
            call_sites: history.call_sites(call_sites, limits),
            retained_blocks: history.retained_blocks(layer.blocks(), limits.blocks),
            maps: self.maps_in_order(maps, start, end),
            iterations,
            curve,
        })
    }

    fn maps_in_order(&self, taken: &Maps, start: Instant, end: Instant) -> Vec<AddressMapAt> {
        let mut maps: Vec<AddressMapAt> = taken.taken().cloned().collect();
        if let Some(maker) = self.peak_maker() {
            let at = Instant { time: self.peak().1, event: maker.born.max(start.event) };
            maps.push(AddressMapAt::of(at, MapMoment::Peak, self.map_at_peak(taken).into_iter()));
        }
        let end = maps.iter().map(|map| map.at).chain([end]).max().unwrap_or(end);
        maps.push(self.map_now(end, MapMoment::End));
        maps.sort_by_key(|map| map.at.event);
        maps
    }

    fn map_now(&self, at: Instant, moment: MapMoment) -> AddressMapAt {
        match &self.driver {
            Some(driver) if !self.has_allocator() => {
                let map = stretches(driver.placed(driver.layer().blocks()));
                AddressMapAt::of(at, moment, map.into_iter())
            }
            _ => AddressMapAt::of(at, moment, self.address_map()),
        }
    }

    fn map_at_peak(&self, maps: &Maps) -> Vec<MappedSegment> {
        let (blocks, _) = self.layer().at_peak();
        match &self.driver {
            Some(driver) if !self.has_allocator() => {
                let blocks = blocks.iter().map(|(&address, block)| (address, block));
                stretches(driver.placed(blocks))
            }
            _ => address_map(maps.segments_at_peak(), blocks).collect(),
        }
    }

    /// Keeps a map of the present for a picture, where one is due.
    pub(super) fn keep_map(&mut self, at: Instant) {
        let parts = self.layer().totals().blocks + self.segments.len() as u64;
        if !self.maps.as_mut().is_some_and(|maps| maps.count(parts)) {
            return;
        }
        let map = self.map_now(at, MapMoment::Chosen);
        if let Some(maps) = &mut self.maps {
            maps.choose(map);
        }
    }

    /// Keeps a map of a moment at which memory ran out.
    pub(crate) fn keep_failure(&mut self, at: Instant) {
        if self.maps.is_none() {
            return;
        }
        let map = self.map_now(at, MapMoment::OutOfMemory);
        if let Some(maps) = &mut self.maps {
            maps.ran_out(map);
        }
    }

    /// Blocks of an allocator tell more than the driver's: what was drawn of these before is of no use.
    pub(super) fn allocator_appears(&mut self) {
        if let Some(maps) = self.maps.as_mut().filter(|_| !self.blocks.is_used()) {
            maps.restart();
        }
    }
}
