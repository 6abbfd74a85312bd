//! Everything that a verdict is made from, read into one model.

use std::path::{Path, PathBuf};

use anyhow::Result;
use whyoom_allocators::workload::{Run, Workloads};
use whyoom_causes::{Keeper, Verdict, judge, name_keepers, prove};
use whyoom_memory::Model;
use whyoom_report::{Answer, Input, InputKind};
use whyoom_trace::Tables;

use crate::{
    run::{keepers, snapshots},
    source::{Frames, read},
};

/// What was read, and where it can be read again.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) model: Model,
    pub(crate) tables: Tables,
    inputs: Vec<Input>,
    paths: Vec<PathBuf>,
    keepers: Vec<Keeper>,
    /// How many events recordings held.
    pub(crate) recorded_events: u64,
}

impl Reading {
    /// Reads an input: a recording with what lies beside it, a file, or `-`.
    pub(crate) fn add(&mut self, path: &Path) -> Result<()> {
        let contents = read(path, Frames::Named, &mut self.tables, &mut self.model)?;
        self.recorded_events += contents.recorded_events;
        let is_recording = contents.input.kind == InputKind::Recording;
        self.paths.push(path.to_owned());
        self.inputs.push(contents.input);
        if is_recording {
            self.keepers.extend(keepers(path));
            return snapshots(path).iter().try_for_each(|snapshot| self.add(snapshot));
        }
        Ok(())
    }

    /// The verdict, with what a replay of the runs can prove.
    pub(crate) fn judge(&mut self) -> Result<Verdict> {
        let mut verdict = judge(&self.model, &self.tables);
        name_keepers(&mut verdict, &self.model, &self.tables, &self.keepers);
        if verdict.has_provable_remedies() {
            prove(&mut verdict, &self.runs()?);
        }
        Ok(verdict)
    }

    /// What there is to show of a verdict.
    pub(crate) fn answer<'a>(&'a self, verdict: &'a Verdict) -> Answer<'a> {
        Answer { verdict, model: &self.model, tables: &self.tables, inputs: &self.inputs }
    }

    /// What is worth saying of the inputs.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().flat_map(|input| &input.notes).map(String::as_str)
    }

    /// The runs that were recorded, read once more: few verdicts need them, and they are large.
    fn runs(&mut self) -> Result<Vec<Run>> {
        let mut workloads = Workloads::default();
        let with_history = |input: &Input| input.kind != InputKind::Text;
        for (path, input) in self.paths.iter().zip(&self.inputs) {
            if with_history(input) && path != Path::new("-") {
                read(path, Frames::Nameless, &mut self.tables, &mut workloads)?;
            }
        }
        Ok(workloads.into_runs())
    }
}
