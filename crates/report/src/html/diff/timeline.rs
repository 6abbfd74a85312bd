//! Memory over time of each rank of a run, as coarsely as every model keeps it.

use serde::Serialize;
use whyoom_memory::{Model, Space};
use whyoom_trace::{Bytes, DeviceId, ProcessId, Tables, Time};

use super::super::column::Column;

/// Points that one curve may have.
const MOST_POINTS: usize = 2048;

/// Memory over time of one process on one device.
#[derive(Debug, Clone)]
pub struct RunTimeline {
    /// The process and the device, as a comparison names them.
    name: String,
    points: Vec<TimelinePoint>,
    /// When iterations began, and of how many one is told.
    iterations: (Vec<Time>, u64),
}

#[derive(Debug, Clone, Copy)]
struct TimelinePoint {
    end: Time,
    allocated: Bytes,
    reserved: Bytes,
}

/// Memory over time of everything that a model has on devices.
#[must_use]
pub fn run_timelines(model: &Model, tables: &Tables) -> Vec<RunTimeline> {
    let on_gpus = model.spaces().filter(|(_, device, _)| *device != DeviceId::HOST);
    on_gpus.map(|(process, device, space)| timeline(tables, process, device, space)).collect()
}

fn timeline(tables: &Tables, process: ProcessId, device: DeviceId, space: &Space) -> RunTimeline {
    let points = space.timeline().points().iter().map(|point| TimelinePoint {
        end: point.end.time,
        allocated: point.highest.allocated,
        reserved: point.highest.reserved.max(point.end.reserved),
    });
    let mut points: Vec<TimelinePoint> = points.collect();
    points.extend(unfinished(space, points.last().map(|point| point.end)));
    RunTimeline {
        name: format!("{}, {device}", tables.process_name(process)),
        points,
        iterations: space.layer().iteration_times(),
    }
}

/// What the last events have not made a point of yet: the peak must not be lost.
fn unfinished(space: &Space, last: Option<Time>) -> Option<TimelinePoint> {
    let (totals, time) = space.peak();
    let is_later = last.is_none_or(|last| time > last);
    is_later.then_some(TimelinePoint {
        end: time,
        allocated: totals.allocated,
        reserved: totals.reserved.max(space.peak_reserved()),
    })
}

/// A curve of the page. Times count from the first point.
#[derive(Serialize)]
pub(super) struct TimelineJson {
    time: Column,
    /// The most within each point.
    allocated: Column,
    reserved: Column,
    /// When iterations began; one is told of so many.
    iterations: Column,
    every: u64,
}

impl TimelineJson {
    /// The curve of a rank, where its source tells one.
    pub(super) fn of(timelines: &[RunTimeline], name: &str) -> Option<Self> {
        let found = timelines.iter().find(|timeline| timeline.name == name)?;
        let points = thinned(&found.points);
        let start = points.first()?.end;
        let since = |time: Time| time.0.saturating_sub(start.0);
        let (iterations, every) = &found.iterations;
        Some(Self {
            time: points.iter().map(|point| since(point.end)).collect(),
            allocated: points.iter().map(|point| point.allocated.0).collect(),
            reserved: points.iter().map(|point| point.reserved.0).collect(),
            iterations: iterations.iter().map(|time| since(*time)).collect(),
            every: *every,
        })
    }
}

/// At most so many points: of those that share one the highest.
fn thinned(points: &[TimelinePoint]) -> Vec<TimelinePoint> {
    let stride = points.len().div_ceil(MOST_POINTS).max(1);
    let merged = points.chunks(stride).filter_map(|part| {
        Some(TimelinePoint {
            end: part.last()?.end,
            allocated: part.iter().map(|point| point.allocated).max()?,
            reserved: part.iter().map(|point| point.reserved).max()?,
        })
    });
    merged.collect()
}
