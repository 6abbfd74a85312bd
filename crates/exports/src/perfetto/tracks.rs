//! The tracks: a group for each process, in it the counters of each device, its marks and its failures.

use std::collections::BTreeMap;

use whyoom_trace::{MarkKind, ProcessId, Tables, Time};

use super::{
    counter::{Counter, Point},
    packets::Packets,
    proto::{
        COUNTER, CounterDescriptor, ProcessDescriptor, SIZE_BYTES, TrackDescriptor, TrackEvent,
    },
};
use crate::run::{Figures, SpaceKey};

/// The counters of a space, in the order of [`values`].
const COUNTERS: [&str; 3] = ["allocated", "reserved", "driver"];

fn values(figures: &Figures) -> [Option<u64>; 3] {
    [Some(figures.allocated.0), Some(figures.reserved.0), figures.driver.map(|bytes| bytes.0)]
}

/// What a track is of; its place in the order in which tracks were made is its number in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Process(ProcessId),
    Counter(SpaceKey, usize),
    Marks(ProcessId, MarkKind),
    Failures(SpaceKey),
}

#[derive(Default)]
pub(super) struct Tracks {
    made: BTreeMap<Name, u64>,
    counters: BTreeMap<SpaceKey, [Counter; 3]>,
}

impl Tracks {
    /// Takes the present figures of a space.
    pub(super) fn note(
        &mut self,
        space: SpaceKey,
        time: Time,
        figures: Figures,
        tables: &Tables,
        out: &mut Packets,
    ) {
        let counters = self.counters.entry(space).or_default();
        let mut ended: [Vec<Point>; 3] = Default::default();
        for ((counter, value), ended) in counters.iter_mut().zip(values(&figures)).zip(&mut ended) {
            if let Some(value) = value {
                *ended = counter.note(time, value);
            }
        }
        // The track is made with the first value: its name can be looked up now.
        for (index, value) in values(&figures).iter().enumerate() {
            if value.is_some() {
                self.counter(space, index, time, tables, out);
            }
        }
        self.write(space, ended, out);
    }

    fn write(&self, space: SpaceKey, points: [Vec<Point>; 3], out: &mut Packets) {
        for (index, points) in points.into_iter().enumerate() {
            let Some(&track_uuid) = self.made.get(&Name::Counter(space, index)) else { continue };
            for (time, value) in points {
                let counter_value = Some(i64::try_from(value).unwrap_or(i64::MAX));
                let kind = COUNTER;
                out.event(
                    time,
                    TrackEvent { kind, track_uuid, counter_value, ..TrackEvent::default() },
                );
            }
        }
    }

    /// What was restored so far is the state at the start.
    pub(super) fn restart(&mut self, space: SpaceKey) {
        for counter in self.counters.entry(space).or_default() {
            counter.restart();
        }
    }

    /// Writes the counters' last points.
    pub(super) fn finish(&mut self, out: &mut Packets) {
        let spaces: Vec<SpaceKey> = self.counters.keys().copied().collect();
        for space in spaces {
            let points = self.counters.entry(space).or_default().each_mut().map(Counter::finish);
            self.write(space, points, out);
        }
    }

    fn counter(
        &mut self,
        space: SpaceKey,
        index: usize,
        time: Time,
        tables: &Tables,
        out: &mut Packets,
    ) -> u64 {
        let name = Name::Counter(space, index);
        if let Some(uuid) = self.made.get(&name) {
            return *uuid;
        }
        let parent_uuid = Some(self.process(space.0, time, tables, out));
        let descriptor = TrackDescriptor {
            name: format!("{} {}", space.1, COUNTERS[index]),
            parent_uuid,
            counter: Some(CounterDescriptor { unit: SIZE_BYTES }),
            ..TrackDescriptor::default()
        };
        self.make(name, time, descriptor, out)
    }

    /// The track of a process's marks.
    pub(super) fn marks(
        &mut self,
        space: SpaceKey,
        kind: MarkKind,
        time: Time,
        tables: &Tables,
        out: &mut Packets,
    ) -> u64 {
        let name = if kind == MarkKind::Iteration { "iterations" } else { "phases" };
        self.named(Name::Marks(space.0, kind), space.0, name, time, tables, out)
    }

    /// The track of a process's failures on a device.
    pub(super) fn failures(
        &mut self,
        space: SpaceKey,
        time: Time,
        tables: &Tables,
        out: &mut Packets,
    ) -> u64 {
        let name = format!("{} failures", space.1);
        self.named(Name::Failures(space), space.0, &name, time, tables, out)
    }

    fn named(
        &mut self,
        name: Name,
        process: ProcessId,
        text: &str,
        time: Time,
        tables: &Tables,
        out: &mut Packets,
    ) -> u64 {
        if let Some(uuid) = self.made.get(&name) {
            return *uuid;
        }
        let parent_uuid = Some(self.process(process, time, tables, out));
        let name_text = text.to_owned();
        let descriptor =
            TrackDescriptor { name: name_text, parent_uuid, ..TrackDescriptor::default() };
        self.make(name, time, descriptor, out)
    }

    fn process(
        &mut self,
        process: ProcessId,
        time: Time,
        tables: &Tables,
        out: &mut Packets,
    ) -> u64 {
        let name = Name::Process(process);
        if let Some(uuid) = self.made.get(&name) {
            return *uuid;
        }
        // Numbers of their own: two processes of two machines may have the same one.
        let pid = i32::try_from(process.0).unwrap_or(i32::MAX).saturating_add(1);
        let process_name = tables.process_name(process).to_owned();
        let descriptor = TrackDescriptor {
            process: Some(ProcessDescriptor { pid, process_name }),
            ..TrackDescriptor::default()
        };
        self.make(name, time, descriptor, out)
    }

    fn make(
        &mut self,
        name: Name,
        time: Time,
        descriptor: TrackDescriptor,
        out: &mut Packets,
    ) -> u64 {
        let uuid = self.made.len() as u64 + 1;
        self.made.insert(name, uuid);
        out.track(time, TrackDescriptor { uuid, ..descriptor });
        uuid
    }
}
