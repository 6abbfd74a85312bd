//! Memory over time, as programs read it.

use serde::Serialize;
use whyoom_memory::{Moment, Space};
use whyoom_trace::{DeviceId, ProcessId};

use crate::{Answer, device_json::DeviceJson};

/// As many as a chart in a page is wide, in pairs of pixels.
const MOST_POINTS: usize = 320;

/// The memory of one process on one device over time.
#[derive(Serialize)]
pub(crate) struct TimelineJson<'a> {
    process: &'a str,
    device: DeviceJson,
    points: Vec<PointJson>,
    /// When memory ran out.
    failures_ns: Vec<u64>,
}

/// The highest moment of a stretch of time.
#[derive(Serialize)]
struct PointJson {
    time_ns: u64,
    in_use_bytes: u64,
    reserved_bytes: u64,
}

/// Of each process and device whose memory has a history.
pub(crate) fn timelines<'a>(answer: &Answer<'a>) -> Vec<TimelineJson<'a>> {
    let spaces = answer.model.spaces().filter(|(_, device, _)| *device != DeviceId::HOST);
    let spaces = spaces.filter(|(_, _, space)| !space.timeline().points().is_empty());
    spaces.map(|(process, device, space)| timeline(answer, process, device, space)).collect()
}

fn timeline<'a>(
    answer: &Answer<'a>,
    process: ProcessId,
    device: DeviceId,
    space: &Space,
) -> TimelineJson<'a> {
    let moments: Vec<Moment> = space.timeline().points().iter().map(|one| one.highest).collect();
    let stretch = moments.len().div_ceil(MOST_POINTS).max(1);
    let highest = moments.chunks(stretch).filter_map(|part| part.iter().max_by_key(by_use));
    let incidents = answer.model.incidents().iter();
    let own = incidents.filter(|one| (one.process, one.device) == (process, device));
    TimelineJson {
        process: answer.tables.process_name(process),
        device: device.into(),
        points: highest.map(point).collect(),
        failures_ns: own.map(|incident| incident.time.0).take(MOST_POINTS).collect(),
    }
}

fn by_use(moment: &&Moment) -> u64 {
    moment.allocated.0
}

fn point(moment: &Moment) -> PointJson {
    PointJson {
        time_ns: moment.time.0,
        in_use_bytes: moment.allocated.0,
        reserved_bytes: moment.reserved.0,
    }
}
