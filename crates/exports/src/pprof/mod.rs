//! pprof: what was in use at the peak and what was allocated over the run, by stack.
//!
//! Each process's memory on each device is told at its own peak: the moment that its figures are of. Kept
//! is a sum for each stack and kind, so that the file's size follows the program, not the run.

mod build;
mod proto;
mod sums;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, io::Write};

use build::Builder;
use flate2::{Compression, write::GzEncoder};
use prost::Message;
use sums::{Key, Sums};
use whyoom_memory::{LayerKind, Step};
use whyoom_trace::{Action, Event, EventSink, Tables, Time};

use crate::{
    error::ExportError,
    format::{Export, Exported, Format, Target},
    run::{Run, SpaceKey},
};

/// pprof.
pub(crate) const FORMAT: Format = Format {
    name: "pprof",
    extensions: &[".pb.gz"],
    opened_by: "go tool pprof -top FILE",
    of_one_process: false,
    start: |target| Ok(Box::new(PprofExport::new(target))),
};

struct PprofExport {
    out: Box<dyn Write + Send>,
    run: Run,
    sums: BTreeMap<SpaceKey, BTreeMap<Key, Sums>>,
    first: Option<Time>,
    last: Time,
}

impl PprofExport {
    fn new(target: Target) -> Self {
        let (run, sums) = (Run::default(), BTreeMap::new());
        Self { out: target.out, run, sums, first: None, last: Time(0) }
    }

    /// Adds what was in use at each space's peak, and leaves the layer that tells most of each: an
    /// allocator's blocks lie in memory of the driver, which would be counted twice.
    fn add_peaks(&mut self) {
        let Self { run, sums, .. } = self;
        for (process, device, space) in run.model.spaces() {
            let layer = if space.has_allocator() { LayerKind::Blocks } else { LayerKind::Driver };
            let Some(sums) = sums.get_mut(&(process, device)) else { continue };
            sums.retain(|key, _| key.layer == layer);
            // What only waits for a stream was given back.
            let in_use = space.layer().peak_blocks().filter(|(_, block)| !block.pending);
            for (_, block) in in_use {
                let key = Key {
                    layer,
                    interface: block.interface,
                    category: block.category,
                    stack: block.stack,
                };
                let sum = sums.entry(key).or_default();
                sum.inuse_objects += 1;
                sum.inuse_space = sum.inuse_space.saturating_add_unsigned(block.size.0);
            }
        }
    }
}

impl EventSink for PprofExport {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.run.event(event, tables);
        if event.time != Time(0) {
            self.first.get_or_insert(event.time);
            self.last = event.time;
        }
        if event.action == Action::HistoryStart {
            // What was restored so far, the run did not allocate.
            let space = (event.origin.process, event.origin.device);
            self.sums.entry(space).or_default().clear();
        }
        let taken = self.run.changes().iter().filter(|change| change.step == Step::Taken);
        for change in taken {
            let key = Key {
                layer: change.layer,
                interface: change.block.interface,
                category: self.run.model.category(change.block.stack),
                stack: change.block.stack,
            };
            let sum = self.sums.entry(change.space).or_default().entry(key).or_default();
            sum.alloc_objects += 1;
            sum.alloc_space = sum.alloc_space.saturating_add_unsigned(change.block.size.0);
        }
    }
}

impl Export for PprofExport {
    fn finish(mut self: Box<Self>, tables: &Tables) -> Result<Exported, ExportError> {
        self.add_peaks();
        if self.sums.values().all(BTreeMap::is_empty) {
            return Err(ExportError::Nothing { format: FORMAT.name });
        }
        let mut builder = Builder::new(tables);
        for (space, sums) in &self.sums {
            for (key, sums) in sums {
                builder.sample(*space, key, sums);
            }
        }
        let profile = builder.build(self.first.unwrap_or_default(), self.last);
        let mut gzip = GzEncoder::new(self.out, Compression::default());
        gzip.write_all(&profile.encode_to_vec())?;
        gzip.finish()?.flush()?;
        Ok(Exported::default())
    }
}
