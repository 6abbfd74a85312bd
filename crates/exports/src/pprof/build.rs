//! A profile, put together: strings, functions and locations each once.

use indexmap::IndexSet;
use whyoom_trace::{FrameText, Tables, Time};

use super::{
    proto::{Function, Label, Line, Location, Profile, Sample, ValueType},
    sums::{Key, SAMPLE_TYPES, Sums},
};
use crate::run::SpaceKey;

/// What is shown where nobody asks for another.
const SHOWN: &str = "inuse_space";
/// Frames that every allocation ends in: readers leave them out, so that who asked is innermost.
const DROPPED: &str = ".*CUDACachingAllocator::.*|.*cudaMalloc.*|cu(da)?Mem[A-Z].*|c10::alloc.*";
const COMMENT: &str = "inuse: at the peak of each process on each device; alloc: over the run";

pub(super) struct Builder<'a> {
    tables: &'a Tables,
    strings: IndexSet<String>,
    /// Name and file.
    functions: IndexSet<(i64, i64)>,
    /// Function and line.
    locations: IndexSet<(u64, i64)>,
    samples: Vec<Sample>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(tables: &'a Tables) -> Self {
        let mut builder = Self {
            tables,
            strings: IndexSet::new(),
            functions: IndexSet::new(),
            locations: IndexSet::new(),
            samples: Vec::new(),
        };
        // The format wants the empty string first.
        builder.string("");
        builder
    }

    pub(super) fn sample(&mut self, (process, device): SpaceKey, key: &Key, sums: &Sums) {
        let tables = self.tables;
        let mut locations: Vec<u64> =
            tables.frames(key.stack).map(|frame| self.location(&frame)).collect();
        if locations.is_empty() {
            let unknown = FrameText { function: "[no stack]", file: "", line: 0, library: "" };
            locations.push(self.location(&unknown));
        }
        let labels = [
            ("kind", key.category.name()),
            ("interface", key.interface.name()),
            ("device", &device.to_string()),
            ("process", tables.process_name(process)),
        ];
        let module = tables.module(key.stack).map(|module| ("module", module.name));
        let label = labels
            .into_iter()
            .chain(module)
            .map(|(name, text)| Label { key: self.string(name), str: self.string(text) })
            .collect();
        let Sums { alloc_objects, alloc_space, inuse_objects, inuse_space } = *sums;
        let value = vec![alloc_objects, alloc_space, inuse_objects, inuse_space];
        self.samples.push(Sample { location_id: locations, value, label });
    }

    pub(super) fn build(mut self, first: Time, last: Time) -> Profile {
        let sample_type = SAMPLE_TYPES
            .map(|(kind, unit)| ValueType { kind: self.string(kind), unit: self.string(unit) });
        let (default_sample_type, comment) = (self.string(SHOWN), self.string(COMMENT));
        let drop_frames = self.string(DROPPED);
        let functions = self.functions.iter().zip(1..);
        let locations = self.locations.iter().zip(1..);
        Profile {
            sample_type: sample_type.to_vec(),
            sample: self.samples,
            location: locations
                .map(|(&(function_id, line), id)| Location {
                    id,
                    line: vec![Line { function_id, line }],
                })
                .collect(),
            function: functions
                .map(|(&(name, filename), id)| Function { id, name, system_name: name, filename })
                .collect(),
            string_table: self.strings.into_iter().collect(),
            time_nanos: i64::try_from(first.0).unwrap_or(0),
            duration_nanos: i64::try_from(last.0.saturating_sub(first.0)).unwrap_or(0),
            drop_frames,
            comment: vec![comment],
            default_sample_type,
        }
    }

    fn string(&mut self, text: &str) -> i64 {
        let index = self.strings.get_index_of(text);
        index.unwrap_or_else(|| self.strings.insert_full(text.to_owned()).0) as i64
    }

    /// Ids begin with 1.
    fn location(&mut self, frame: &FrameText<'_>) -> u64 {
        // A nameless function would be a nameless row: its library says more.
        let name = if frame.function.is_empty() { frame.file } else { frame.function };
        let function = (self.string(name), self.string(frame.file));
        let function = self.functions.insert_full(function).0 as u64 + 1;
        self.locations.insert_full((function, frame.line.into())).0 as u64 + 1
    }
}
