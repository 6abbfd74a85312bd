//! Everything that a verdict is made from, read into one model.

use std::{
    convert::Infallible,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use whyoom_allocators::{Run, Workloads};
use whyoom_causes::{
    Ahead, InputOrigin, Measured, Referrer, Verdict, has_provable_remedies, judge_on,
    name_referrers, prove, was_applied,
};
use whyoom_files::folder::Folder;
use whyoom_flight::Checkpoint;
use whyoom_memory::{Incident, Model};
use whyoom_redact::Paths;
use whyoom_report::{Answer, CaughtFailures, Input, ReplayAnswer, Report};
use whyoom_sources::{
    InputKind,
    recording::{Ending, Unresolved},
};
use whyoom_trace::{Event, EventSink, Tables};

use crate::{
    SIMULATED, WhatIf,
    beside::referrers,
    packed::{Packed, PackedError},
    replay_context::ReplayContext,
    whole_run::WholeRun,
};

/// Runs grow with their events, a few hundred bytes each: longer ones are not gathered on the way.
const MOST_GATHERED: u64 = 12_000_000;
/// Said of a recording whose model of the whole run is not used.
const NOT_ALONE: &str = "the ring dropped events, and only the first of several inputs, without a report, is read with \
                         the model of its whole run: peak, growth and what is live are those of the last events alone";
/// The cause of a failure that the program did not notice: it ended with status 0 and wrong results.
const UNCHECKED: &str = "unchecked-error";
/// Notes on replays beyond these say nothing new.
const MOST_NOTES: usize = 4;

/// What was read.
#[derive(Default)]
pub struct Inquiry {
    /// Memory over time.
    pub model: Model,
    /// The names in it.
    pub tables: Tables,
    inputs: Vec<Input>,
    /// How the runs of recordings among them ended, where that is told.
    endings: Vec<Option<Ending>>,
    /// What Python told of who keeps tensors alive.
    pub referrers: Vec<Referrer>,
    /// Runs to replay: gathered on the way where a report is wanted, else read when they are needed.
    gathered: Option<Workloads>,
    gathered_events: u64,
    /// True if runs are gathered however long they are.
    gathers_all: bool,
    runs: Option<Vec<Run>>,
    /// What was measured of the machine.
    pub measured: Measured,
    /// Where the inputs come from. `None` if that was not asked: then they are from elsewhere.
    origin: Option<InputOrigin>,
}

/// What a report has beside the verdict.
pub struct ReportOf {
    /// Which folders are left out of paths.
    pub paths: Paths,
    /// Whether paths are told in full all the same.
    pub full_paths: bool,
}

impl Inquiry {
    /// One that keeps what a report shows, where one is wanted.
    #[must_use]
    pub fn new(for_report: bool) -> Self {
        if !for_report {
            return Self::default();
        }
        let gathered = Some(Workloads::default());
        Self { model: Model::with_history(), gathered, ..Self::default() }
    }

    /// Returns one that keeps the runs to replay, however long they are.
    #[must_use]
    pub fn for_replay() -> Self {
        Self { gathered: Some(Workloads::default()), gathers_all: true, ..Self::default() }
    }

    /// What follows is of another launch than what came before.
    pub fn begin_launch(&mut self) {
        self.model.begin_launch(self.tables.next_process());
    }

    /// Sets where another input comes from. One from elsewhere makes all so.
    pub fn add_origin(&mut self, origin: InputOrigin) {
        self.origin = Some(match self.origin.take() {
            Some(before) => before.and(origin),
            None => origin,
        });
    }

    /// Takes an input: its events, then itself.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn take<E>(
        &mut self,
        read: impl FnOnce(&mut Tables, &mut dyn EventSink) -> Result<Input, E>,
    ) -> Result<InputKind, E> {
        let mut sink = Gathering {
            model: &mut self.model,
            workloads: &mut self.gathered,
            events: &mut self.gathered_events,
            most: if self.gathers_all { u64::MAX } else { MOST_GATHERED },
        };
        let input = read(&mut self.tables, &mut sink)?;
        let kind = input.kind;
        self.inputs.push(input);
        Ok(kind)
    }

    /// Takes a recording: the model of its whole run where there is one and nothing but a model is wanted, or else its
    /// events, then itself. Returns how many events the model was made from.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn take_recording<E>(
        &mut self,
        name: &str,
        folder: &Folder,
        read: impl FnOnce(&mut Tables, &mut dyn EventSink) -> Result<Input, E>,
    ) -> Result<Option<u64>, E> {
        let lost = match WholeRun::of(folder) {
            WholeRun::InModel(checkpoint) if self.wants_model_only() => {
                let events = checkpoint.about.events;
                self.take_model(name, *checkpoint);
                self.endings.push(Ending::read(folder));
                return Ok(Some(events));
            }
            WholeRun::InModel(_) => Some(NOT_ALONE.to_owned()),
            WholeRun::Lost(why) => Some(why),
            WholeRun::InEvents => None,
        };
        self.take(read)?;
        self.endings.push(Ending::read(folder));
        self.inputs.last_mut().into_iter().for_each(|input| input.notes.extend(lost.clone()));
        Ok(None)
    }

    /// Takes a packed recording, with what lies beside it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn take_packed(&mut self, packed: &Packed) -> Result<(), PackedError> {
        self.take_recording(packed.name(), packed.folder(), |tables, sink| {
            packed.import(&mut Unresolved, tables, sink)
        })?;
        self.referrers.extend(referrers(packed.folder()));
        for snapshot in packed.snapshots() {
            self.take(|tables, sink| snapshot.import(tables, sink))?;
        }
        Ok(())
    }

    /// Takes the model of a whole run in place of the events that are left of it. These are no run to replay: what
    /// was live before them is missing.
    fn take_model(&mut self, name: &str, checkpoint: Checkpoint) {
        let Checkpoint { about, model, tables } = checkpoint;
        (self.model, self.tables) = (model, tables);
        self.runs = Some(Vec::new());
        let mut notes = about.notes;
        notes.extend((!about.finished).then(|| {
            let seconds = age(about.time).as_secs();
            format!("the program still runs: this is how it was {seconds} s ago")
        }));
        let input = Input { name: name.to_owned(), kind: InputKind::Recording, notes };
        self.inputs.push(input);
    }

    /// Whether nothing was read yet, and nothing is wanted but a model.
    fn wants_model_only(&self) -> bool {
        self.inputs.is_empty() && self.gathered.is_none()
    }

    /// What was read, in order.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The same, to add notes to.
    pub fn inputs_mut(&mut self) -> &mut [Input] {
        &mut self.inputs
    }

    /// The verdict, with what a replay of the runs can prove. `again` reads the inputs with a history once more: few
    /// verdicts need that, and runs are large.
    ///
    /// # Errors
    /// Those of `again`.
    pub fn judge<E>(
        &mut self,
        again: impl Fn(&mut Tables, &mut Workloads) -> Result<(), E>,
    ) -> Result<Verdict, E> {
        let mut verdict = self.judge_ahead(&again)?;
        name_referrers(&mut verdict, &self.model, &self.tables, &self.referrers);
        if has_provable_remedies(&verdict) {
            self.make_runs(&again)?;
            prove(&mut verdict, self.runs.as_deref().unwrap_or_default(), &self.tables);
        }
        // What came of one recording's second run is not told of another.
        if let [Some(ending)] = self.endings.as_slice()
            && let Some(applied) = &ending.applied
        {
            was_applied(&mut verdict, applied.setting.as_deref(), applied.succeeded);
        }
        Ok(verdict)
    }

    /// The verdict of the model. Where the request alone would fit in the cache, what the run asked for next when it
    /// was there before is looked at too.
    fn judge_ahead<E>(
        &mut self,
        again: &impl Fn(&mut Tables, &mut Workloads) -> Result<(), E>,
    ) -> Result<Verdict, E> {
        let verdict = self.judge_with(&Ahead::default());
        if verdict.primary.cause != "fragmented-cache" {
            return Ok(verdict);
        }
        self.make_runs(again)?;
        let ahead = Ahead::of(self.runs.as_deref().unwrap_or_default(), &self.tables);
        Ok(if ahead.is_empty() { verdict } else { self.judge_with(&ahead) })
    }

    fn judge_with(&self, ahead: &Ahead) -> Verdict {
        judge_on(&self.model, &self.tables, self.measured, self.origin(), ahead)
    }

    fn origin(&self) -> &InputOrigin {
        self.origin.as_ref().unwrap_or(InputOrigin::ELSEWHERE)
    }

    /// Returns the verdict that replays of the gathered runs need: its remedies are not proved.
    pub fn judge_unproved(&mut self) -> Verdict {
        match self.judge_ahead(&|_: &mut Tables, _: &mut Workloads| Ok::<(), Infallible>(())) {
            Ok(verdict) => {
                self.runs = self.take_runs();
                verdict
            }
        }
    }

    /// Returns the gathered runs, once they were judged.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        self.runs.as_deref().unwrap_or_default()
    }

    /// Returns what replays need to know of a verdict on these inputs.
    #[must_use]
    pub fn replay_context<'a>(&'a self, verdict: &'a Verdict) -> ReplayContext<'a> {
        ReplayContext::new(verdict, self.origin())
    }

    /// Has the runs that were recorded ready.
    fn make_runs<E>(
        &mut self,
        again: &impl Fn(&mut Tables, &mut Workloads) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.runs.is_none() {
            let mut workloads = self.gathered.take();
            if workloads.is_none() {
                let mut read = Workloads::default();
                again(&mut self.tables, &mut read)?;
                workloads = Some(read);
            }
            self.runs = workloads.map(Workloads::into_runs);
        }
        Ok(())
    }

    /// What there is to show of a verdict.
    #[must_use]
    pub fn answer<'a>(&'a self, verdict: &'a Verdict) -> Answer<'a> {
        let caught = self.caught_failures(verdict);
        Answer { verdict, model: &self.model, tables: &self.tables, inputs: &self.inputs, caught }
    }

    /// Returns the failures that a recorded program survived. `None` if it did not end with status 0, if none failed,
    /// or if one may have stopped a process.
    fn caught_failures(&self, verdict: &Verdict) -> Option<CaughtFailures> {
        let [Some(ending)] = self.endings.as_slice() else { return None };
        let has_failed_calls = self.model.processes().any(|(_, one)| one.failures_seen() > 0);
        if ending.status != Some(0) || has_failed_calls || verdict.primary.cause == UNCHECKED {
            return None;
        }
        // A snapshot beside the recording has the same failures once more. It is named after its file.
        let is_recorded = |one: &&Incident| self.tables.process_name(one.process).contains("(PID ");
        let recorded: Vec<&Incident> = self.model.incidents().iter().filter(is_recorded).collect();
        let seen =
            self.model.incidents_seen() - (self.model.incidents().len() - recorded.len()) as u64;
        let has_all = seen == recorded.len() as u64;
        let started = format!("(PID {})", ending.pid);
        let survived = |one: &&Incident| {
            // The status is that of the process that was started. Of others, only what they did next is known.
            let is_started = self.tables.process_name(one.process).ends_with(&started);
            is_started || has_all && self.model.went_on_after(one)
        };
        let by_allocator = !recorded.iter().any(|one| one.of_driver);
        let all_survived = !recorded.is_empty() && recorded.iter().all(survived);
        all_survived.then_some(CaughtFailures { count: seen, by_allocator })
    }

    /// Whether any of the inputs was recorded in the lab.
    fn is_simulated(&self) -> bool {
        self.endings.iter().flatten().any(|ending| ending.simulated)
    }

    /// The runs that were gathered; nothing where they are too long.
    fn take_runs(&mut self) -> Option<Vec<Run>> {
        let gathered = || self.gathered.take().map(Workloads::into_runs);
        self.runs.take().or_else(gathered)
    }

    /// The report of a verdict.
    pub fn with_report<T>(
        &mut self,
        verdict: &Verdict,
        about: ReportOf,
        then: impl FnOnce(&Report<'_>) -> T,
    ) -> T {
        let runs = self.take_runs();
        let what_if = WhatIf::of(runs.as_deref());
        let context = self.replay_context(verdict);
        let replay = what_if.answers(runs.as_deref().unwrap_or_default(), &self.tables, context);
        let names: Vec<String> = self.inputs.iter().map(|input| shown(&input.name)).collect();
        let result = then(&Report {
            title: names.join(", "),
            answer: Some(self.answer(verdict)),
            memory: Some((&self.model, &self.tables)),
            replay: &replay,
            replay_note: note(&what_if, &replay),
            simulated: self.is_simulated().then(|| SIMULATED.to_owned()),
            fit: None,
            paths: about.paths,
            full_paths: about.full_paths,
        });
        drop(replay);
        self.runs = runs;
        result
    }
}

/// How long a time in nanoseconds since 1970 is ago.
fn age(time: u64) -> Duration {
    let then = UNIX_EPOCH + Duration::from_nanos(time);
    SystemTime::now().duration_since(then).unwrap_or_default()
}

/// What is left out of the replays, if anything is.
fn note(what_if: &WhatIf, replay: &[ReplayAnswer<'_>]) -> Option<String> {
    let of_answers = replay.iter().flat_map(|answer| answer.notes.iter().cloned());
    let mut notes: Vec<String> = what_if.note.iter().cloned().chain(of_answers).collect();
    notes.dedup();
    notes.truncate(MOST_NOTES);
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// A path as people recognise it: without the folders before its name.
fn shown(name: &str) -> String {
    let path = Path::new(name);
    let last = path.file_name().filter(|_| path.is_absolute());
    last.map_or_else(|| name.to_owned(), |last| last.to_string_lossy().into_owned())
}

/// Takes events for the model and, where they are gathered, for the runs to replay.
struct Gathering<'a> {
    model: &'a mut Model,
    workloads: &'a mut Option<Workloads>,
    events: &'a mut u64,
    /// Runs with more events than these are not kept.
    most: u64,
}

impl EventSink for Gathering<'_> {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.model.event(event, tables);
        if let Some(workloads) = self.workloads {
            workloads.event(event, tables);
            *self.events += 1;
            if *self.events >= self.most {
                *self.workloads = None;
            }
        }
    }
}
