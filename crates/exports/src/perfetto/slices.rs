//! Marks as slices: each lasts until the next of its kind.

use std::collections::BTreeSet;

use whyoom_trace::Time;

use super::{
    interned::Sort,
    packets::Packets,
    proto::{SLICE_BEGIN, SLICE_END, TrackEvent},
};

/// The tracks on which a slice is open.
#[derive(Default)]
pub(super) struct Slices {
    open: BTreeSet<u64>,
}

impl Slices {
    /// Ends what the track has open, and begins what the mark names.
    pub(super) fn mark(&mut self, track: u64, name: &str, time: Time, out: &mut Packets) {
        if !self.open.insert(track) {
            out.event(time, end(track));
        }
        let name_iid = Some(out.intern(Sort::Event, name));
        let kind = SLICE_BEGIN;
        out.event(time, TrackEvent { kind, name_iid, track_uuid: track, ..TrackEvent::default() });
    }

    /// Ends what is open.
    pub(super) fn finish(&mut self, time: Time, out: &mut Packets) {
        for track in std::mem::take(&mut self.open) {
            out.event(time, end(track));
        }
    }
}

fn end(track: u64) -> TrackEvent {
    TrackEvent { kind: SLICE_END, track_uuid: track, ..TrackEvent::default() }
}
