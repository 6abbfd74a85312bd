//! The inputs of a verdict, and where they can be read again.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use whyoom_causes::{Referrer, Verdict, was_applied};
use whyoom_flight::Checkpoint;
use whyoom_reading::{Inquiry, ReportOf};
use whyoom_report::{Answer, Input, Report};
use whyoom_sources::{
    InputKind,
    recording::{Ending, is_recording},
};

use crate::{
    beside::{keepers, process_in, snapshots},
    machine::MachineFile,
    source::{Frames, read, read_entry},
    whole_run::WholeRun,
};

/// Said of a recording whose model of the whole run is not used.
const NOT_ALONE: &str = "the ring dropped events, and only the first of several inputs, without a report, is read with \
                         the model of its whole run: peak, growth and what is live are those of the last events alone";

/// What was read, and where it can be read again.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) inquiry: Inquiry,
    paths: Vec<PathBuf>,
    /// Those that were found in a recording, and not named by a person.
    entries: HashSet<PathBuf>,
    /// How many events recordings held.
    pub(crate) recorded_events: u64,
    /// Whether the libraries that a recording names are not opened.
    nameless_frames: bool,
}

impl Reading {
    /// One that keeps what a report shows, where one is wanted.
    pub(crate) fn new(for_report: bool) -> Self {
        Self { inquiry: Inquiry::new(for_report), ..Self::default() }
    }

    /// Opens no library that a recording names: whoever made it chose those paths.
    pub(crate) fn leave_frames_nameless(&mut self) {
        self.nameless_frames = true;
    }

    /// Reads an input: a recording with what lies beside it, a file, or `-`.
    pub(crate) fn add(&mut self, path: &Path) -> Result<()> {
        self.inquiry.begin_launch();
        let kind = self.add_one(path)?;
        if process_in(path).is_some() {
            self.inquiry.referrers.extend(keepers(path));
        }
        if kind == InputKind::Recording {
            self.inquiry.referrers.extend(keepers(path));
            for snapshot in snapshots(path) {
                self.entries.insert(snapshot.clone());
                self.add_one(&snapshot)?;
            }
        }
        Ok(())
    }

    fn add_one(&mut self, path: &Path) -> Result<InputKind> {
        let mut lost = None;
        if !self.entries.contains(path) && is_recording(path) {
            match WholeRun::of(path) {
                WholeRun::InModel(checkpoint) if self.inquiry.wants_model_only() => {
                    return Ok(self.take_over(path, *checkpoint));
                }
                WholeRun::InModel(_) => lost = Some(NOT_ALONE.to_owned()),
                WholeRun::Lost(why) => lost = Some(why),
                WholeRun::InEvents => {}
            }
        }
        let frames = if self.nameless_frames { Frames::Nameless } else { Frames::Named };
        let is_entry = self.entries.contains(path);
        let mut events = 0;
        let kind = self.inquiry.take(|tables, sink| {
            let contents = match is_entry {
                true => read_entry(path, tables, sink)?,
                false => read(path, frames, tables, sink)?,
            };
            events = contents.recorded_events;
            anyhow::Ok(contents.input)
        })?;
        self.recorded_events += events;
        self.paths.push(path.to_owned());
        self.inquiry.inputs_mut().last_mut().into_iter().for_each(|input| {
            input.notes.extend(lost.take());
        });
        Ok(kind)
    }

    /// Takes the model of a whole run in place of the events that are left of it. These are no run to replay: what
    /// was live before them is missing.
    fn take_over(&mut self, path: &Path, checkpoint: Checkpoint) -> InputKind {
        let Checkpoint { about, model, tables } = checkpoint;
        self.recorded_events += about.events;
        let mut notes = about.notes;
        notes.extend((!about.finished).then(|| {
            let seconds = age(about.time).as_secs();
            format!("the program still runs: this is how it was {seconds} s ago")
        }));
        let (name, kind) = (path.display().to_string(), InputKind::Recording);
        self.paths.push(path.to_owned());
        self.inquiry.take_model(model, tables, Input { name, kind, notes });
        kind
    }

    /// Takes what was measured of the machine that the inputs are from, in place of what is assumed.
    pub(crate) fn measure(&mut self, machine: &MachineFile) {
        self.inquiry.measured = machine.measured();
        if let Some(input) = self.inquiry.inputs_mut().first_mut() {
            input.notes.push(machine.told_of_context());
        }
    }

    /// The verdict, with what a replay of the runs can prove.
    pub(crate) fn judge(&mut self) -> Result<Verdict> {
        let Self { inquiry, paths, entries, .. } = self;
        let kinds: Vec<InputKind> = inquiry.inputs().iter().map(|input| input.kind).collect();
        let mut verdict = inquiry.judge(|tables, workloads| {
            for (path, kind) in paths.iter().zip(&kinds) {
                if entries.contains(path) {
                    read_entry(path, tables, workloads)?;
                } else if *kind != InputKind::Text && path != Path::new("-") {
                    read(path, Frames::Nameless, tables, workloads)?;
                }
            }
            anyhow::Ok(())
        })?;
        // What came of one recording's second run is not told of another.
        if let [path] = self.recordings().as_slice()
            && let Some(applied) = Ending::read(*path).and_then(|ending| ending.applied)
        {
            was_applied(&mut verdict, applied.setting.as_deref(), applied.succeeded);
        }
        Ok(verdict)
    }

    fn recordings(&self) -> Vec<&PathBuf> {
        let inputs = self.paths.iter().zip(self.inquiry.inputs());
        inputs
            .filter(|(_, input)| input.kind == InputKind::Recording)
            .map(|(path, _)| path)
            .collect()
    }

    /// What there is to show of a verdict.
    pub(crate) fn answer<'a>(&'a self, verdict: &'a Verdict) -> Answer<'a> {
        self.inquiry.answer(verdict)
    }

    /// What Python told of who keeps tensors alive.
    pub(crate) fn referrers(&self) -> &[Referrer] {
        &self.inquiry.referrers
    }

    /// What is worth saying of the inputs.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        self.inquiry.inputs().iter().flat_map(|input| &input.notes).map(String::as_str)
    }

    /// The names of what was read.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.inquiry.inputs().iter().map(|input| input.name.as_str())
    }

    /// Where it was read from.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The report of a verdict.
    pub(crate) fn with_report<T>(
        &mut self,
        verdict: &Verdict,
        about: ReportOf,
        then: impl FnOnce(&Report<'_>) -> T,
    ) -> T {
        self.inquiry.with_report(verdict, about, then)
    }
}

/// How long a time in nanoseconds since 1970 is ago.
fn age(time: u64) -> Duration {
    let then = UNIX_EPOCH + Duration::from_nanos(time);
    SystemTime::now().duration_since(then).unwrap_or_default()
}
