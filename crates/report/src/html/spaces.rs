//! Each process's memory on each device, as the page draws it.

use whyoom_causes::{ObservedFigures, figures};
use whyoom_memory::{
    AddressMapAt, Bands, BlockLife, Category, CurvePoint, Growth, Incident, Instant,
    IterationStarts, LiveSum, MapMoment, Model, RetainedBlocks, SegmentRuns, Space, TimelineData,
    TimelineLimits,
};
use whyoom_trace::{Bytes, DeviceId, ProcessId, SegmentGrowth, SizeClass, Time};

use super::{
    column::Column,
    modules::{ModulesJson, modules},
    names::Names,
    space_json::{
        BandJson, BandsJson, BlocksJson, CurveJson, GrowthJson, IncidentJson, IterationsJson,
        MapJson, PeakJson, SegmentJson, SpaceJson, StackJson,
    },
};

/// Points of curves over all spaces; each has some, and none more than this.
const MOST_POINTS: usize = 131_072;
const LEAST_POINTS: usize = 2_048;
const POINTS_OF_ONE: usize = 16_384;
/// Blocks that are drawn one by one, over all spaces; each has some.
const MOST_BLOCKS: usize = 100_000;
const LEAST_BLOCKS: usize = 1_000;
/// Places that have a band of their own.
const MOST_PLACES: usize = 24;
/// Spaces beyond these are not drawn, the smallest of them.
const MOST_SPACES: usize = 64;
/// Incidents of a space beyond these are counted only.
const MOST_INCIDENTS: usize = 256;
/// Stacks that the peak is told by.
const MOST_STACKS: usize = 4096;
/// Segments and runs of all maps, over all spaces; each has some.
const MOST_PARTS: usize = 200_000;
const LEAST_PARTS: usize = 8_000;
/// Modules over all spaces; each has some, and none more than this.
const MOST_MODULES: usize = 16_384;
const LEAST_MODULES: usize = 512;
const MODULES_OF_ONE: usize = 4096;
/// The unit of addresses: no allocator places anything more finely.
const ADDRESS_UNIT: u64 = 512;
/// The page's numbers are exact up to here.
const LARGEST_ADDRESS: u64 = (1 << 53) - 1;

/// The spaces with something to draw, and the processes that they are of.
pub(super) fn spaces(model: &Model, names: &mut Names<'_>) -> (Vec<SpaceJson>, Vec<ProcessId>) {
    let mut drawn: Vec<_> = model.spaces().filter(|(_, _, space)| is_worth_it(space)).collect();
    if drawn.len() > MOST_SPACES {
        drawn.sort_by_key(|(_, _, space)| std::cmp::Reverse(space.peak().0.allocated));
        drawn.truncate(MOST_SPACES);
        drawn.sort_by_key(|&(process, device, _)| (process, device));
    }
    let share = |most: usize, least: usize| (most / drawn.len().max(1)).max(least);
    let limits = TimelineLimits {
        points: share(MOST_POINTS, LEAST_POINTS).min(POINTS_OF_ONE),
        blocks: share(MOST_BLOCKS, LEAST_BLOCKS),
        call_sites: MOST_PLACES,
    };
    let most_parts = share(MOST_PARTS, LEAST_PARTS);
    let most_modules = share(MOST_MODULES, LEAST_MODULES).min(MODULES_OF_ONE);
    let pictures: Vec<_> = drawn
        .into_iter()
        .filter_map(|(process, device, space)| {
            Some((process, device, space, model.timeline_data(process, device, limits)?))
        })
        .collect();
    let starts = pictures.iter().map(|(_, _, _, picture)| picture.start.time);
    let clock = Clock { start: starts.filter(|start| *start > Time(0)).min().unwrap_or_default() };
    let tables = names.tables();
    let failures = model.incidents().iter();
    let failures: Vec<_> = failures.map(|one| (one, figures(model, tables, one))).collect();
    let mut processes = Vec::new();
    let mut spaces = Vec::new();
    for (process, device, space, picture) in &pictures {
        let number = position(&mut processes, *process);
        let (process, device) = (*process, *device);
        let draft = Draft {
            model,
            failures: &failures,
            clock,
            process,
            device,
            space,
            most_parts,
            most_modules,
        };
        spaces.push(draft.space(number, picture, names));
    }
    // Processes without memory of their own are told of too.
    for (process, _) in model.processes() {
        position(&mut processes, process);
    }
    (spaces, processes)
}

fn position(processes: &mut Vec<ProcessId>, process: ProcessId) -> usize {
    processes.iter().position(|known| *known == process).unwrap_or_else(|| {
        processes.push(process);
        processes.len() - 1
    })
}

/// Whether there ever was anything in it.
fn is_worth_it(space: &Space) -> bool {
    space.peak().0.allocated > Bytes::ZERO || space.peak_reserved() > Bytes::ZERO
}

/// Counts from the first event of the report.
#[derive(Clone, Copy)]
struct Clock {
    start: Time,
}

impl Clock {
    fn at(self, time: Time) -> u64 {
        time.0.saturating_sub(self.start.0)
    }

    fn columns(self, instants: impl Iterator<Item = Instant> + Clone) -> (Column, Column) {
        let time = instants.clone().map(|instant| self.at(instant.time)).collect();
        (time, instants.map(|instant| instant.event).collect())
    }
}

/// A space on its way into the document.
struct Draft<'a> {
    model: &'a Model,
    /// Every failure with its figures.
    failures: &'a [(&'a Incident, ObservedFigures)],
    clock: Clock,
    process: ProcessId,
    device: DeviceId,
    space: &'a Space,
    most_parts: usize,
    most_modules: usize,
}

impl Draft<'_> {
    fn space(
        &self,
        process: usize,
        picture: &TimelineData<'_>,
        names: &mut Names<'_>,
    ) -> SpaceJson {
        let growth = self.model.growth(self.process, self.device);
        SpaceJson {
            process,
            device: self.device.to_string(),
            capacity_bytes: self.capacity().map(|bytes| bytes.0),
            events: picture.events,
            has_allocator: self.space.has_allocator(),
            curve: self.curve(&picture.curve),
            by_kind: self.kinds(&picture.kinds),
            by_place: self.call_sites(&picture.call_sites, names),
            incidents: self.incidents(names),
            iterations: picture.iterations.as_ref().map(|starts| self.iterations(starts)),
            growth: growth.map(|growth| self.growth(&growth, names)),
            blocks: self.blocks(&picture.retained_blocks, names),
            maps: thinned(&picture.maps, self.most_parts).map(|map| self.map(map, names)).collect(),
            peak: self.peak(picture.start, names),
            modules: self.modules(picture.start, names),
        }
    }

    /// What the device has, where a failure on it told; else what this process could have of it.
    fn capacity(&self) -> Option<Bytes> {
        let here = || self.failures.iter().filter(|(one, _)| one.device == self.device);
        let told = here().filter_map(|(_, situation)| situation.capacity).max();
        let own = here().filter(|(one, _)| one.process == self.process);
        let could = own.filter_map(|(_, one)| Some(one.reserved?.plus(one.free?)));
        told.or_else(|| could.max())
    }

    fn curve(&self, points: &[CurvePoint]) -> CurveJson {
        let (time, event) = self.clock.columns(points.iter().map(|point| point.end));
        CurveJson {
            time,
            event,
            lowest: points.iter().map(|point| point.lowest.0).collect(),
            highest: points.iter().map(|point| point.highest.0).collect(),
            reserved: points.iter().map(|point| point.reserved.0).collect(),
        }
    }

    fn kinds(&self, kinds: &Bands<Category>) -> BandsJson {
        let (time, event) = self.clock.columns(kinds.at.iter().copied());
        let bands = kinds.bands.iter().map(|band| BandJson {
            name: band.name.name().to_owned(),
            stack: None,
            bytes: column(&band.bytes),
        });
        BandsJson { time, event, bands: bands.collect() }
    }

    fn call_sites(&self, call_sites: &Bands<&str>, names: &mut Names<'_>) -> BandsJson {
        let (time, event) = self.clock.columns(call_sites.at.iter().copied());
        let bands = call_sites.bands.iter().map(|band| BandJson {
            name: band.name.to_owned(),
            stack: band.stack.map(|stack| names.stack(stack)),
            bytes: column(&band.bytes),
        });
        let mut bands: Vec<BandJson> = bands.collect();
        if call_sites.rest.iter().any(|bytes| *bytes > Bytes::ZERO) {
            let bytes = column(&call_sites.rest);
            bands.push(BandJson { name: "rest".to_owned(), stack: None, bytes });
        }
        BandsJson { time, event, bands }
    }

    fn incidents(&self, names: &mut Names<'_>) -> Vec<IncidentJson> {
        let own = |(one, _): &&(&Incident, ObservedFigures)| {
            (one.process, one.device) == (self.process, self.device)
        };
        let failures = self.failures.iter().filter(own).take(MOST_INCIDENTS);
        let tell = |(incident, situation): &(&Incident, ObservedFigures)| IncidentJson {
            time: self.clock.at(incident.time),
            event: incident.number,
            requested_bytes: raw(situation.requested),
            allocated_bytes: raw(situation.allocated),
            reserved_bytes: raw(situation.reserved),
            free_bytes: raw(situation.free),
            stack: names.stack(incident.stack),
            message: incident.symptom.map(|(_, _, text)| names.text(text)),
        };
        failures.map(tell).collect()
    }

    fn iterations(&self, starts: &IterationStarts) -> IterationsJson {
        let begun = &starts.begun;
        let (time, event) = self.clock.columns(begun.iter().map(|(at, _)| *at));
        let bytes = begun.iter().map(|(_, bytes)| bytes.0).collect();
        IterationsJson {
            found_by: starts.source.describe(),
            every: starts.every,
            time,
            event,
            bytes,
        }
    }

    fn growth(&self, growth: &Growth, names: &mut Names<'_>) -> GrowthJson {
        let stacks = growth.stacks.iter().take(MOST_STACKS).map(|growing| StackJson {
            stack: names.stack(growing.stack),
            bytes: growing.usage.bytes.0,
            blocks: growing.usage.blocks,
            kind: None,
            module: None,
        });
        GrowthJson {
            iterations: growth.iterations,
            per_iteration_bytes: growth.per_iteration.0,
            interval_bytes: (growth.interval.0.0, growth.interval.1.0),
            total_bytes: growth.total.0,
            stacks: stacks.collect(),
        }
    }

    fn blocks(&self, gallery: &RetainedBlocks, names: &mut Names<'_>) -> BlocksJson {
        let blocks = &gallery.blocks;
        let (born, born_event) = self.clock.columns(blocks.iter().map(|block| block.born));
        let ended = |block: &BlockLife| block.died.map_or(-1, |at| signed(self.clock.at(at.time)));
        BlocksJson {
            seen: gallery.seen,
            complete: gallery.is_complete(),
            born,
            born_event,
            died: blocks.iter().map(ended).collect(),
            died_event: blocks
                .iter()
                .map(|block| block.died.map_or(-1, |at| signed(at.event)))
                .collect(),
            address: blocks
                .iter()
                .map(|block| (block.address.0 / ADDRESS_UNIT).min(LARGEST_ADDRESS))
                .collect(),
            size: blocks.iter().map(|block| block.size.0).collect(),
            stack: blocks.iter().map(|block| names.stack(block.stack)).collect(),
            module: blocks.iter().map(|block| names.module(block.module)).collect(),
            kind: blocks.iter().map(|block| block.category as usize).collect(),
            kinds: Category::ALL.iter().map(|category| category.name()).collect(),
        }
    }

    fn map(&self, map: &AddressMapAt, names: &mut Names<'_>) -> MapJson {
        MapJson {
            time: self.clock.at(map.at.time),
            event: map.at.event,
            moment: match map.moment {
                MapMoment::Chosen => "",
                MapMoment::Peak => "peak",
                MapMoment::OutOfMemory => "out of memory",
                MapMoment::End => "end",
            },
            smallest_gap: map.smallest_gap.0,
            left_out: map.left_out,
            segments: map.segments.iter().map(|mapped| segment(mapped, names)).collect(),
        }
    }

    fn peak_event(&self, start: Instant) -> u64 {
        self.space.peak_maker().map_or(0, |block| block.born).max(start.event)
    }

    /// By module at the last failure or, where there was none, at the peak.
    fn modules(&self, start: Instant, names: &mut Names<'_>) -> Option<ModulesJson> {
        let own = |one: &&Incident| (one.process, one.device) == (self.process, self.device);
        let failures = self.model.incidents().iter().rev();
        let failed = failures.filter(own).find(|incident| !incident.live.is_empty());
        let (moment, time, event, live) = match failed {
            Some(failed) => ("out of memory", failed.time, failed.number, failed.live.clone()),
            None => {
                let (_, time) = self.space.peak();
                ("peak", time, self.peak_event(start), self.space.live_sums_at_peak())
            }
        };
        let at = (self.clock.at(time), event);
        modules((moment, at), &live, self.most_modules, names)
    }

    fn peak(&self, start: Instant, names: &mut Names<'_>) -> PeakJson {
        let (totals, time) = self.space.peak();
        let event = self.peak_event(start);
        let mut sums = self.space.live_sums_at_peak();
        sums.truncate(MOST_STACKS);
        let tell = |sum: &LiveSum| StackJson {
            stack: names.stack(sum.stack),
            bytes: sum.usage.bytes.0,
            blocks: sum.usage.blocks,
            kind: Some(sum.category.name()),
            module: Some(names.module(sum.module_stack())).filter(|module| *module >= 0),
        };
        PeakJson {
            time: self.clock.at(time),
            event,
            bytes: totals.allocated.0,
            stacks: sums.iter().map(tell).collect(),
        }
    }
}

/// Maps in at most about so many parts altogether: of the evenly chosen ones every so manyth.
fn thinned(maps: &[AddressMapAt], most_parts: usize) -> impl Iterator<Item = &AddressMapAt> {
    let runs = |segments: &SegmentRuns| segments.runs.len() + 1;
    let parts = |map: &AddressMapAt| map.segments.iter().map(runs).sum::<usize>();
    let stride = maps.iter().map(parts).sum::<usize>().div_ceil(most_parts).max(1);
    let mut seen = 0;
    maps.iter().filter(move |map| {
        seen += usize::from(map.moment == MapMoment::Chosen);
        map.moment != MapMoment::Chosen || seen.is_multiple_of(stride)
    })
}

fn segment(mapped: &SegmentRuns, names: &mut Names<'_>) -> SegmentJson {
    let segment = &mapped.segment;
    let pool = names.pool(segment.pool);
    let runs = mapped.runs.iter();
    SegmentJson {
        address: format!("{:#x}", mapped.address.0),
        size: segment.size.0,
        stream: segment.stream.0,
        pool,
        class: match segment.class {
            SizeClass::Small => "small",
            SizeClass::Large => "large",
        },
        expandable: segment.growth == SegmentGrowth::Expandable,
        runs: runs
            .map(|run| (run.offset.0, run.bytes.0, run.blocks, names.stack(run.stack)))
            .collect(),
    }
}

fn column(amounts: &[Bytes]) -> Column {
    amounts.iter().map(|bytes| bytes.0).collect()
}

fn raw(bytes: Option<Bytes>) -> Option<u64> {
    bytes.map(|bytes| bytes.0)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
