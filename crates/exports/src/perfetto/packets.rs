//! The packets of a trace, written one after another into the file.

use std::io::Write;

use prost::Message;
use whyoom_trace::Time;

use super::{
    interned::{Interned, Sort},
    proto::{
        BOOTTIME, Clock, ClockSnapshot, DebugAnnotation, NEEDS_STATE, REALTIME, STATE_CLEARED,
        TracePacket, TrackDescriptor, TrackEvent,
    },
};
use crate::{error::ExportError, format::Latch};

/// All packets are of one writer.
const SEQUENCE: u32 = 1;
/// The tag of a message in field 1.
const FIELD_ONE: u8 = 0x0a;

/// Packets on their way into the file.
pub(super) struct Packets {
    out: Box<dyn Write + Send>,
    latch: Latch,
    interned: Interned,
    begun: bool,
}

/// What is noted beside an event.
pub(super) enum Note {
    Number(u64),
    Text(String),
}

impl Packets {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out, latch: Latch::default(), interned: Interned::default(), begun: false }
    }

    /// The iid of a string, told with the next packet where it is new.
    pub(super) fn intern(&mut self, sort: Sort, text: &str) -> u64 {
        self.interned.iid(sort, text)
    }

    pub(super) fn annotations(&mut self, notes: Vec<(&str, Note)>) -> Vec<DebugAnnotation> {
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

    pub(super) fn event(&mut self, time: Time, event: TrackEvent) {
        let interned_data = self.interned.take_new();
        self.packet(
            time,
            TracePacket { track_event: Some(event), interned_data, ..TracePacket::default() },
        );
    }

    pub(super) fn track(&mut self, time: Time, track: TrackDescriptor) {
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

    /// Ends the file; without a packet it has a beginning all the same.
    pub(super) fn finish(&mut self, time: Time) -> Result<(), ExportError> {
        if !self.begun {
            self.begin(time);
        }
        self.latch.finish()?;
        Ok(self.out.flush()?)
    }
}
