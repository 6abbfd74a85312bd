//! Perfetto: counters, iterations and phases as slices, failures as instants.
//!
//! A counter is written when it changes, and where it changes more often than a screen can show, its
//! extremes are (`counter.rs`). Blocks are not written one by one: their lives overlap in any order, which
//! slices cannot; the other formats tell of them.

mod counter;
mod interned;
mod proto;
mod slices;
#[cfg(test)]
mod tests;
mod tracks;

use std::io::Write;

use interned::{Interned, Sort};
use prost::Message;
use proto::{
    BOOTTIME, Clock, ClockSnapshot, DebugAnnotation, INSTANT, NEEDS_STATE, REALTIME, STATE_CLEARED,
    TracePacket, TrackDescriptor, TrackEvent,
};
use slices::Slices;
use tracks::Tracks;
use whyoom_memory::{LivePlace, live_places};
use whyoom_trace::{Action, Event, EventSink, Tables, Time};

use crate::{
    error::ExportError,
    format::{Export, Exported, Format, Latch, Target},
    ledger::SpaceKey,
    run::Run,
    stacks::stack_text,
};

/// Perfetto.
pub(crate) const FORMAT: Format = Format {
    name: "perfetto",
    extensions: &[".perfetto-trace", ".pftrace"],
    opened_by: "open it at ui.perfetto.dev",
    of_one_process: false,
    start: |target| Ok(Box::new(PerfettoExport::new(target))),
};

/// All packets are of one writer.
const SEQUENCE: u32 = 1;
/// Places that are named at a failure, the largest.
const PLACES: usize = 10;

struct PerfettoExport {
    out: Packets,
    run: Run,
    tracks: Tracks,
    slices: Slices,
    last: Time,
}

/// Packets on their way into the file.
struct Packets {
    out: Box<dyn Write + Send>,
    latch: Latch,
    interned: Interned,
    begun: bool,
}

impl PerfettoExport {
    fn new(target: Target) -> Self {
        let out = Packets {
            out: target.out,
            latch: Latch::default(),
            interned: Interned::default(),
            begun: false,
        };
        Self {
            out,
            run: Run::default(),
            tracks: Tracks::default(),
            slices: Slices::default(),
            last: Time(0),
        }
    }

    /// A failure, with what was asked for, by whom, and what was live.
    fn failure(&mut self, event: &Event, tables: &Tables) {
        let space = (event.origin.process, event.origin.device);
        let (name, mut notes) = match event.action {
            Action::OutOfMemory { requested } => {
                ("out of memory", vec![("requested bytes", Note::Number(requested.0))])
            }
            Action::Symptom { text, software, .. } => (
                "message",
                vec![
                    ("text", Note::Text(tables.text(text).to_owned())),
                    ("software", Note::Text(software.name().to_owned())),
                ],
            ),
            _ => return,
        };
        if let Some(figures) = self.run.figures(space) {
            notes.push(("allocated bytes", Note::Number(figures.allocated.0)));
            notes.push(("reserved bytes", Note::Number(figures.reserved.0)));
        }
        let stack = stack_text(tables, event.stack);
        if !stack.is_empty() {
            notes.push(("stack", Note::Text(stack)));
        }
        let live = self.live(tables);
        let live = live.iter().map(|(name, text)| (name.as_str(), Note::Text(text.clone())));
        let track = self.tracks.failures(space, self.last, tables, &mut self.out);
        let notes: Vec<_> = notes.into_iter().chain(live).collect();
        let event = TrackEvent {
            kind: INSTANT,
            name_iid: Some(self.out.intern(Sort::Event, name)),
            track_uuid: track,
            debug_annotations: self.out.annotations(notes),
            ..TrackEvent::default()
        };
        self.out.event(self.last, event);
    }

    /// What held most when memory ran out, by place.
    fn live(&self, tables: &Tables) -> Vec<(String, String)> {
        let incident = self.run.model.incidents().last();
        let Some(incident) = incident.filter(|one| one.number == self.run.number()) else {
            return Vec::new();
        };
        let places = live_places(tables, &incident.live).into_iter().take(PLACES).zip(1..);
        let text = |live: LivePlace| format!("{} {}", live.usage.bytes, live.place);
        places.map(|(live, rank)| (format!("live {rank:02}"), text(live))).collect()
    }

    /// Notes the figures of every space that an event touched.
    fn count(&mut self, touched: impl IntoIterator<Item = SpaceKey>, tables: &Tables) {
        for space in touched {
            if let Some(figures) = self.run.figures(space) {
                self.tracks.note(space, self.last, figures, tables, &mut self.out);
            }
        }
    }
}

/// What is noted beside an event.
enum Note {
    Number(u64),
    Text(String),
}

impl EventSink for PerfettoExport {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.run.event(event, tables);
        // Without a time it happened when the last one did.
        self.last = self.last.max(event.time);
        let named = (event.origin.process, event.origin.device);
        let mut touched: Vec<SpaceKey> =
            self.run.changes().iter().map(|change| change.space).collect();
        touched.push(named);
        touched.dedup();
        match event.action {
            Action::OutOfMemory { .. } | Action::Symptom { .. } => self.failure(event, tables),
            Action::Mark { kind, name } => {
                let track = self.tracks.marks(named, kind, self.last, tables, &mut self.out);
                self.slices.mark(track, tables.text(name), self.last, &mut self.out);
            }
            Action::HistoryStart => self.tracks.restart(named),
            _ => {}
        }
        self.count(touched, tables);
    }
}

impl Export for PerfettoExport {
    fn finish(mut self: Box<Self>, _: &Tables) -> Result<Exported, ExportError> {
        self.tracks.finish(&mut self.out);
        self.slices.finish(self.last, &mut self.out);
        if !self.out.begun {
            self.out.begin(self.last);
        }
        self.out.latch.finish()?;
        self.out.out.flush()?;
        Ok(Exported::default())
    }
}

impl Packets {
    /// The iid of a string, told with the next packet where it is new.
    fn intern(&mut self, sort: Sort, text: &str) -> u64 {
        self.interned.iid(sort, text)
    }

    fn annotations(&mut self, notes: Vec<(&str, Note)>) -> Vec<DebugAnnotation> {
        let annotation = |(name, note): (&str, Note)| {
            let name_iid = self.intern(Sort::Annotation, name);
            match note {
                Note::Number(number) => {
                    DebugAnnotation { name_iid, uint_value: Some(number), ..Default::default() }
                }
                Note::Text(text) => DebugAnnotation {
                    name_iid,
                    string_value_iid: Some(self.intern(Sort::Value, &text)),
                    ..Default::default()
                },
            }
        };
        notes.into_iter().map(annotation).collect()
    }

    fn event(&mut self, time: Time, event: TrackEvent) {
        let interned_data = self.interned.take_new();
        self.packet(
            time,
            TracePacket { track_event: Some(event), interned_data, ..TracePacket::default() },
        );
    }

    fn track(&mut self, time: Time, track: TrackDescriptor) {
        self.packet(time, TracePacket { track_descriptor: Some(track), ..TracePacket::default() });
    }

    fn packet(&mut self, time: Time, packet: TracePacket) {
        if !self.begun {
            self.begin(time);
        }
        self.write(TracePacket { timestamp: Some(time.0), sequence_flags: NEEDS_STATE, ..packet });
    }

    /// The first packet says that nothing was interned before, and that the times are those of the wall.
    fn begin(&mut self, time: Time) {
        self.begun = true;
        let clocks = [BOOTTIME, REALTIME].map(|clock_id| Clock { clock_id, timestamp: time.0 });
        self.write(TracePacket {
            clock_snapshot: Some(ClockSnapshot { clocks: clocks.to_vec() }),
            sequence_flags: STATE_CLEARED,
            ..TracePacket::default()
        });
    }

    /// A packet is field 1 of the trace.
    fn write(&mut self, packet: TracePacket) {
        let packet = TracePacket { trusted_packet_sequence_id: SEQUENCE, ..packet };
        let Self { out, latch, .. } = self;
        latch.attempt(|| {
            let mut bytes = vec![FIELD_ONE];
            packet.encode_length_delimited(&mut bytes).map_err(std::io::Error::other)?;
            Ok(out.write_all(&bytes)?)
        });
    }
}

/// The tag of a message in field 1.
const FIELD_ONE: u8 = 0x0a;
