//! Everything that a verdict is made from, read into one model.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use whyoom_allocators::workload::{Run, Workloads};
use whyoom_causes::{Keeper, Verdict, judge, name_keepers, prove};
use whyoom_memory::Model;
use whyoom_report::{Answer, Input, InputKind};
use whyoom_sources::{oom_text, recording, torch_snapshot};
use whyoom_symbols::Symbols;
use whyoom_trace::Tables;

use crate::{
    input::{FIRST_BYTES, is_recording, kind_of},
    progress::{ProgressReader, ProgressSink},
    run::{keepers, snapshots},
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
        if path == Path::new("-") {
            if io::stdin().is_terminal() {
                anstream::eprintln!("Paste the traceback, then press Ctrl-D.");
            }
            return self.import(io::stdin().lock(), None, path, "standard input");
        }
        let name = path.display().to_string();
        if is_recording(path) {
            self.import_recording(path, &name)?;
            self.keepers.extend(keepers(path));
            return snapshots(path).iter().try_for_each(|snapshot| self.add(snapshot));
        }
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let metadata = file.metadata().with_context(|| format!("cannot read {name}"))?;
        anyhow::ensure!(
            !metadata.is_dir(),
            "{name} is a folder and no recording of whyoom run; name the files in it"
        );
        self.import(file, Some(metadata.len()), path, &name)
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
        for (path, input) in self.paths.iter().zip(&self.inputs) {
            match input.kind {
                InputKind::Recording => {
                    let resolve = &mut recording::Unresolved;
                    recording::import(path, resolve, &mut self.tables, &mut workloads)?;
                }
                InputKind::TorchSnapshot if path != Path::new("-") => {
                    let Some(process) = self.tables.process_named(&input.name) else { continue };
                    let file = File::open(path)?;
                    torch_snapshot::import(file, process, &mut self.tables, &mut workloads)?;
                }
                InputKind::TorchSnapshot | InputKind::Text => {}
            }
        }
        Ok(workloads.into_runs())
    }

    fn import_recording(&mut self, path: &Path, name: &str) -> Result<()> {
        let mut sink = ProgressSink::new(&mut self.model, name);
        let summary = recording::import(path, &mut names(), &mut self.tables, &mut sink)
            .with_context(|| format!("cannot read {name}"))?;
        drop(sink);
        self.recorded_events += summary.events;
        self.push(path, name, InputKind::Recording, summary.notes);
        Ok(())
    }

    fn import(
        &mut self,
        reader: impl Read,
        length: Option<u64>,
        path: &Path,
        name: &str,
    ) -> Result<()> {
        let mut reader = ProgressReader::new(reader, length, name);
        let context = || format!("cannot read {name}");
        let mut first_bytes = Vec::new();
        reader.by_ref().take(FIRST_BYTES).read_to_end(&mut first_bytes).with_context(context)?;
        let kind = kind_of(&first_bytes).with_context(context)?;
        let whole = first_bytes.chain(reader);
        let notes = match kind {
            InputKind::TorchSnapshot => self.import_snapshot(whole, name),
            InputKind::Text | InputKind::Recording => self.import_text(whole, name),
        };
        self.push(path, name, kind, notes.with_context(context)?);
        Ok(())
    }

    fn push(&mut self, path: &Path, name: &str, kind: InputKind, notes: Vec<String>) {
        self.paths.push(path.to_owned());
        self.inputs.push(Input { name: name.to_owned(), kind, notes });
    }

    fn import_snapshot(&mut self, reader: impl Read, name: &str) -> Result<Vec<String>> {
        let process = self.tables.process(name);
        let summary = torch_snapshot::import(reader, process, &mut self.tables, &mut self.model)?;
        let contradiction = (summary.contradictions > 0).then(|| {
            format!(
                "its history and its state disagree about {} blocks; figures over time may be off",
                summary.contradictions
            )
        });
        Ok(contradiction.into_iter().collect())
    }

    fn import_text(&mut self, reader: impl Read, name: &str) -> Result<Vec<String>> {
        let summary = oom_text::scan(reader, name, &mut self.tables, &mut self.model)?;
        let passed_over = (summary.passed_over > 0).then(|| {
            format!("{} more lines looked like messages and were passed over", summary.passed_over)
        });
        Ok(passed_over.into_iter().collect())
    }
}

/// What names the native frames of recordings.
pub(crate) fn names() -> Symbols {
    Symbols::default()
}
