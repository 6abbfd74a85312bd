//! Perfetto: counters, iterations and phases as slices, failures as instants.
//!
//! A counter is written when it changes, and where it changes more often than a screen can show, its
//! extremes are (`counter.rs`). Blocks are not written one by one: their lives overlap in any order, which
//! slices cannot; the other formats tell of them.

mod counter;
mod interned;
mod packets;
mod proto;
mod slices;
#[cfg(test)]
mod tests;
mod tracks;

use interned::Sort;
use packets::{Note, Packets};
use proto::{INSTANT, TrackEvent};
use slices::Slices;
use tracks::Tracks;
use whyoom_memory::{LiveCallSite, live_call_sites};
use whyoom_trace::{Action, Event, EventSink, Tables, Time};

use crate::{
    error::ExportError,
    format::{Export, Exported, Format, Target},
    run::{Run, SpaceKey},
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

/// Places that are named at a failure, the largest.
const PLACES: usize = 10;

struct PerfettoExport {
    out: Packets,
    run: Run,
    tracks: Tracks,
    slices: Slices,
    last: Time,
}

impl PerfettoExport {
    fn new(target: Target) -> Self {
        Self {
            out: Packets::new(target.out),
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
        let places = live_call_sites(tables, &incident.live).into_iter().take(PLACES).zip(1..);
        let text = |live: LiveCallSite| format!("{} {}", live.usage.bytes, live.call_site);
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
        self.out.finish(self.last)?;
        Ok(Exported::default())
    }
}
