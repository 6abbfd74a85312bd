//! A PyTorch memory snapshot, for `memory_viz` and `torch/cuda/_memory_viz.py`.
//!
//! A snapshot begins with the state at its end, and has each device's history in one piece: the history
//! waits in a store beside the output (`spool.rs`) until everything has been seen. It is of one process; of
//! a program that uses no caching allocator, what it took from the driver stands in place of segments and
//! blocks.

mod history;
mod pickler;
mod root;
mod spool;
mod state;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, io::Write};

use history::Histories;
use pickler::Pickler;
use root::{Annotation, Root};
use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, EventSink, MarkKind, ProcessId, Tables,
};

use crate::{
    error::ExportError,
    format::{Export, Exported, Format, Target},
    run::Run,
};

/// A PyTorch memory snapshot.
pub(crate) const FORMAT: Format = Format {
    name: "pytorch-snapshot",
    extensions: &[".pickle"],
    opened_by: "open it at pytorch.org/memory_viz",
    of_one_process: true,
    start: |target| Ok(Box::new(SnapshotExport::new(target))),
};

/// Marks beyond these are not told.
const MOST_MARKS: usize = 100_000;
/// Names that a message lists.
const NAMED: usize = 5;

struct SnapshotExport {
    out: Box<dyn Write + Send>,
    process: Option<String>,
    run: Run,
    histories: Histories,
    settings: BTreeMap<ProcessId, BTreeMap<String, String>>,
    annotations: BTreeMap<ProcessId, Vec<Annotation>>,
    /// What a device had free when it was last asked, on the occasion of a failure.
    device_free: BTreeMap<ProcessId, Bytes>,
}

impl SnapshotExport {
    fn new(target: Target) -> Self {
        Self {
            out: target.out,
            process: target.process,
            run: Run::default(),
            histories: Histories::new(target.store),
            settings: BTreeMap::new(),
            annotations: BTreeMap::new(),
            device_free: BTreeMap::new(),
        }
    }

    fn mark(&mut self, event: &Event, kind: MarkKind, name: &str) {
        // The importer's own word for the moment that a snapshot was taken.
        if kind == MarkKind::Phase && name == "snapshot" {
            return self.histories.snapshot_taken(event);
        }
        let annotations = self.annotations.entry(event.origin.process).or_default();
        if annotations.len() < MOST_MARKS {
            let device = match event.origin.device {
                DeviceId::HOST | DeviceId::UNKNOWN => DeviceId(0),
                device => device,
            };
            let (name, time) = (name.to_owned(), event.time);
            annotations.push(Annotation { device, time, name });
        }
    }

    /// The process to tell of: the one that was asked for, or else the one that had most at once. The
    /// names of all that have memory come back too.
    fn choose(&self, tables: &Tables) -> Result<(ProcessId, Vec<String>), ExportError> {
        let mut peaks = BTreeMap::<ProcessId, Bytes>::new();
        for (process, _, space) in self.run.model.spaces() {
            let held = space.peak().0.allocated.max(space.peak_reserved());
            if held > Bytes::ZERO {
                let peak = peaks.entry(process).or_default();
                *peak = peak.plus(held);
            }
        }
        let names: Vec<String> =
            peaks.keys().map(|&process| tables.process_name(process).to_owned()).collect();
        let Some(asked) = &self.process else {
            let most = peaks.iter().max_by_key(|(id, peak)| (**peak, std::cmp::Reverse(**id)));
            let most = most.map(|(&process, _)| (process, names));
            return most.ok_or(ExportError::Nothing { format: FORMAT.name });
        };
        let is_it = |process: &&ProcessId| tables.process_name(**process).contains(asked);
        match peaks.keys().find(is_it) {
            Some(&process) => Ok((process, names)),
            None => {
                let known = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
                Err(ExportError::NoSuchProcess { asked: asked.clone(), known })
            }
        }
    }
}

impl EventSink for SnapshotExport {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.run.event(event, tables);
        let process = event.origin.process;
        match event.action {
            Action::Setting { name, value } => {
                let settings = self.settings.entry(process).or_default();
                settings.insert(tables.text(name).to_owned(), tables.text(value).to_owned());
            }
            Action::Mark { kind, name } => self.mark(event, kind, tables.text(name)),
            Action::Sample { counter: Counter::DeviceFree, bytes } => {
                self.device_free.insert(process, bytes);
            }
            Action::OutOfMemory { requested } => {
                let free = self.device_free.remove(&process).unwrap_or_default();
                self.histories.out_of_memory(event, requested, free);
            }
            _ => self.histories.event(event, self.run.changes()),
        }
    }
}

impl Export for SnapshotExport {
    fn finish(mut self: Box<Self>, tables: &Tables) -> Result<Exported, ExportError> {
        let (process, names) = self.choose(tables)?;
        let root = Root {
            process,
            model: &self.run.model,
            settings: self.settings.remove(&process).unwrap_or_default(),
            annotations: self.annotations.remove(&process).unwrap_or_default(),
        };
        let mut pickler = Pickler::new(self.out, tables);
        root.write(&mut self.histories, &mut pickler)?;
        pickler.finish()?;
        let others = names.len().saturating_sub(1);
        let note = (others > 0).then(|| {
            let name = tables.process_name(process);
            format!(
                "a snapshot contains one process: {name}; {others} more had memory (--process NAME)"
            )
        });
        Ok(Exported { notes: note.into_iter().collect() })
    }
}
