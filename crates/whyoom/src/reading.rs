//! Everything that a verdict is made from, read into one model.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use whyoom_allocators::{Run, Workloads};
use whyoom_causes::{
    Ahead, Measured, Referrer, Verdict, has_provable_remedies, judge_on, name_referrers, prove,
    was_applied,
};
use whyoom_flight::Checkpoint;
use whyoom_memory::Model;
use whyoom_report::{Answer, Input};
use whyoom_sources::{
    InputKind,
    recording::{Ending, is_recording},
};
use whyoom_trace::{Event, EventSink, Tables};

use crate::{
    beside::{keepers, process_in, snapshots},
    machine::MachineFile,
    source::{Frames, read, read_entry},
    whole_run::WholeRun,
};

/// Runs grow with their events, a few hundred bytes each: longer ones are not gathered on the way.
const MOST_GATHERED: u64 = 12_000_000;
/// Said of a recording whose model of the whole run is not used.
const NOT_ALONE: &str = "the ring dropped events, and only the first of several inputs, without a report, is read with \
                         the model of its whole run: peak, growth and what is live are those of the last events alone";

/// What was read, and where it can be read again.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) model: Model,
    pub(crate) tables: Tables,
    inputs: Vec<Input>,
    paths: Vec<PathBuf>,
    /// Those that were found in a recording, and not named by a person.
    entries: HashSet<PathBuf>,
    keepers: Vec<Referrer>,
    /// Runs to replay: gathered on the way where a report is wanted, else read when they are needed.
    gathered: Option<Workloads>,
    gathered_events: u64,
    runs: Option<Vec<Run>>,
    /// How many events recordings held.
    pub(crate) recorded_events: u64,
    /// What was measured of the machine.
    measured: Measured,
    /// Whether the libraries that a recording names are not opened.
    nameless_frames: bool,
}

impl Reading {
    /// One that keeps what a report shows, where one is wanted.
    pub(crate) fn new(for_report: bool) -> Self {
        if !for_report {
            return Self::default();
        }
        let gathered = Some(Workloads::default());
        Self { model: Model::with_history(), gathered, ..Self::default() }
    }

    /// Opens no library that a recording names: whoever made it chose those paths.
    pub(crate) fn leave_frames_nameless(&mut self) {
        self.nameless_frames = true;
    }

    /// Reads an input: a recording with what lies beside it, a file, or `-`.
    pub(crate) fn add(&mut self, path: &Path) -> Result<()> {
        self.model.begin_launch(self.tables.next_process());
        let kind = self.add_one(path)?;
        if process_in(path).is_some() {
            self.keepers.extend(keepers(path));
        }
        if kind == InputKind::Recording {
            self.keepers.extend(keepers(path));
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
                WholeRun::InModel(checkpoint) if self.is_empty() => {
                    return Ok(self.take_over(path, *checkpoint));
                }
                WholeRun::InModel(_) => lost = Some(NOT_ALONE.to_owned()),
                WholeRun::Lost(why) => lost = Some(why),
                WholeRun::InEvents => {}
            }
        }
        let mut sink = Gathering {
            model: &mut self.model,
            workloads: &mut self.gathered,
            events: &mut self.gathered_events,
        };
        let frames = if self.nameless_frames { Frames::Nameless } else { Frames::Named };
        let contents = match self.entries.contains(path) {
            true => read_entry(path, &mut self.tables, &mut sink)?,
            false => read(path, frames, &mut self.tables, &mut sink)?,
        };
        self.recorded_events += contents.recorded_events;
        let kind = contents.input.kind;
        self.paths.push(path.to_owned());
        self.inputs.push(contents.input);
        self.inputs.last_mut().into_iter().for_each(|input| input.notes.extend(lost.take()));
        Ok(kind)
    }

    /// Whether nothing was read yet, and nothing is wanted but a model.
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.gathered.is_none()
    }

    /// Takes the model of a whole run in place of the events that are left of it. These are no run to replay: what
    /// was live before them is missing.
    fn take_over(&mut self, path: &Path, checkpoint: Checkpoint) -> InputKind {
        let Checkpoint { about, model, tables } = checkpoint;
        (self.model, self.tables) = (model, tables);
        self.recorded_events += about.events;
        self.runs = Some(Vec::new());
        let mut notes = about.notes;
        notes.extend((!about.finished).then(|| {
            let seconds = age(about.time).as_secs();
            format!("the program still runs: this is how it was {seconds} s ago")
        }));
        let (name, kind) = (path.display().to_string(), InputKind::Recording);
        self.paths.push(path.to_owned());
        self.inputs.push(Input { name, kind, notes });
        kind
    }

    /// Takes what was measured of the machine that the inputs are from, in place of what is assumed.
    pub(crate) fn measure(&mut self, machine: &MachineFile) {
        self.measured = machine.measured();
        if let Some(input) = self.inputs.first_mut() {
            input.notes.push(machine.told_of_context());
        }
    }

    /// The verdict, with what a replay of the runs can prove.
    pub(crate) fn judge(&mut self) -> Result<Verdict> {
        let mut verdict = self.judge_ahead()?;
        name_referrers(&mut verdict, &self.model, &self.tables, &self.keepers);
        if has_provable_remedies(&verdict) {
            self.make_runs()?;
            prove(&mut verdict, self.runs.as_deref().unwrap_or_default(), &self.tables);
        }
        // What came of one recording's second run is not told of another.
        if let [path] = self.recordings().as_slice()
            && let Some(applied) = Ending::read(path).and_then(|ending| ending.applied)
        {
            was_applied(&mut verdict, applied.setting.as_deref(), applied.succeeded);
        }
        Ok(verdict)
    }

    /// The verdict of the model. Where the request alone would fit in the cache, what the run asked for next when it
    /// was there before is looked at too.
    fn judge_ahead(&mut self) -> Result<Verdict> {
        let verdict = self.judge_with(&Ahead::default());
        if verdict.primary.cause != "fragmented-cache" {
            return Ok(verdict);
        }
        self.make_runs()?;
        let ahead = Ahead::of(self.runs.as_deref().unwrap_or_default(), &self.tables);
        Ok(if ahead.is_empty() { verdict } else { self.judge_with(&ahead) })
    }

    fn judge_with(&self, ahead: &Ahead) -> Verdict {
        judge_on(&self.model, &self.tables, self.measured, ahead)
    }

    fn recordings(&self) -> Vec<&PathBuf> {
        let inputs = self.paths.iter().zip(&self.inputs);
        inputs
            .filter(|(_, input)| input.kind == InputKind::Recording)
            .map(|(path, _)| path)
            .collect()
    }

    /// What there is to show of a verdict.
    pub(crate) fn answer<'a>(&'a self, verdict: &'a Verdict) -> Answer<'a> {
        Answer { verdict, model: &self.model, tables: &self.tables, inputs: &self.inputs }
    }

    /// What Python told of who keeps tensors alive.
    pub(crate) fn referrers(&self) -> &[Referrer] {
        &self.keepers
    }

    /// What is worth saying of the inputs.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().flat_map(|input| &input.notes).map(String::as_str)
    }

    /// The names of what was read.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().map(|input| input.name.as_str())
    }

    /// Where it was read from.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The runs that were gathered, which nobody asks for again; nothing where they are too long.
    pub(crate) fn take_runs(&mut self) -> Option<Vec<Run>> {
        let gathered = || self.gathered.take().map(Workloads::into_runs);
        self.runs.take().or_else(gathered)
    }

    /// Has the runs that were recorded ready.
    fn make_runs(&mut self) -> Result<()> {
        if self.runs.is_none() {
            let runs = match self.gathered.take() {
                Some(gathered) => gathered.into_runs(),
                None => self.read_runs()?,
            };
            self.runs = Some(runs);
        }
        Ok(())
    }

    /// Reads the runs once more: few verdicts need them, and they are large.
    fn read_runs(&mut self) -> Result<Vec<Run>> {
        let mut workloads = Workloads::default();
        let with_history = |input: &Input| input.kind != InputKind::Text;
        for (path, input) in self.paths.iter().zip(&self.inputs) {
            if self.entries.contains(path) {
                read_entry(path, &mut self.tables, &mut workloads)?;
            } else if with_history(input) && path != Path::new("-") {
                read(path, Frames::Nameless, &mut self.tables, &mut workloads)?;
            }
        }
        Ok(workloads.into_runs())
    }
}

/// How long a time in nanoseconds since 1970 is ago.
fn age(time: u64) -> Duration {
    let then = UNIX_EPOCH + Duration::from_nanos(time);
    SystemTime::now().duration_since(then).unwrap_or_default()
}

/// Takes events for the model and, where they are gathered, for the runs to replay.
struct Gathering<'a> {
    model: &'a mut Model,
    workloads: &'a mut Option<Workloads>,
    events: &'a mut u64,
}

impl EventSink for Gathering<'_> {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.model.event(event, tables);
        if let Some(workloads) = self.workloads {
            workloads.event(event, tables);
            *self.events += 1;
            if *self.events >= MOST_GATHERED {
                *self.workloads = None;
            }
        }
    }
}
