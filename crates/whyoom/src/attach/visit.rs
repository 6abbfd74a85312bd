//! One visit to a process: the script gets in, answers, and is gone.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use whyoom_attach::{AttachError, Injected, Interpreter, Interrupts, Route, Target, run_script};
use whyoom_reading::TORCH_FOLDER;
use whyoom_redact::visible;

use super::{
    answer::{Attached, History, Look, State},
    known,
    script::Settings,
    shared_folder::SharedFolder,
    signals::{SignalState, Waited},
};
use crate::{
    arguments::AttachArguments,
    run::{check_place, make_for},
    sitecustomize::own_folder,
    terminal::say,
};

/// PyTorch keeps so many entries, a few hundred bytes each, and drops the oldest beyond.
const ENTRIES: u32 = 100_000;
/// Before it is said that something is waited for.
const SOON: Duration = Duration::from_secs(2);
/// A snapshot of a large history takes some seconds.
const LONGEST_LOOK: Duration = Duration::from_secs(300);
/// What a process that ends still writes.
const LAST_ACT: Duration = Duration::from_millis(200);
/// Largest snapshot that is copied out, in bytes. Of 100,000 entries one has a few hundred MB; chosen, not measured.
const MAX_SNAPSHOT_BYTES: u64 = 4 << 30;
/// Largest file of referrers, in bytes. It names 8192 blocks at most; chosen, not measured.
const MAX_REFERRERS_BYTES: u64 = 64 << 20;
/// What the folder is called, before the time.
const PREFIX: &str = "whyoom-attach";

/// Who is visited, and for what.
pub(super) struct Visit<'a> {
    pub(super) arguments: &'a AttachArguments,
    pub(super) target: &'a Target,
    pub(super) signals: &'a SignalState,
}

/// What was brought home.
pub(super) struct Found {
    pub(super) attached: Attached,
    /// Where it is; nothing where nothing was to be seen.
    pub(super) folder: Option<PathBuf>,
}

impl Visit<'_> {
    /// Makes it; nothing where Ctrl-C came before anything was known.
    pub(super) fn make(&self, interpreter: &Interpreter) -> Result<Option<Found>> {
        // Said before the process is stopped for an answer that has no place.
        check_place(self.arguments.output.as_deref())?;
        let watches = self.arguments.is_watching();
        let settings = Settings {
            pid: self.target.pid(),
            referrers: !self.arguments.no_referrers,
            history: watches.then_some(ENTRIES),
        };
        let command = known::command(self.target.pid());
        let mut shared_folder = SharedFolder::make(self.target, settings, self.signals)?;
        if self.signals.wants_end() {
            return Ok(None);
        }
        let Some(injected) = self.inject(interpreter, &shared_folder)? else { return Ok(None) };
        if self.wait_for_begin(&injected, &mut shared_folder)? == Waited::Interrupted {
            return Ok(None);
        }
        let watched = if watches { self.watch(&mut shared_folder)? } else { None };
        shared_folder.release()?;
        let look = self.wait_for_answer(&mut shared_folder)?;
        let attached = Attached {
            pid: self.target.pid(),
            command,
            route: injected.route.into(),
            stopped_seconds: injected.stopped.as_secs_f64(),
            watched_seconds: watched.map(|watched| watched.as_secs_f64()),
            look,
        };
        self.bring_home(&mut shared_folder, attached).map(Some)
    }

    /// Has the process run the script. Returns `None` if a signal ended it before the script ran.
    fn inject(
        &self,
        interpreter: &Interpreter,
        shared_folder: &SharedFolder<'_>,
    ) -> Result<Option<Injected<'_>>> {
        self.signals.set_calling(true);
        let injected = run_script(self.target, interpreter, &shared_folder.start(), self.signals);
        self.signals.set_calling(false);
        match injected {
            Ok(injected) => Ok(Some(injected)),
            Err(AttachError::Interrupted) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn wait_for_begin(
        &self,
        injected: &Injected<'_>,
        shared_folder: &mut SharedFolder<'_>,
    ) -> Result<Waited> {
        let most = SOON.min(self.arguments.wait);
        let mut waited =
            self.signals.wait_until(most, || self.has_begun_or_ended(shared_folder))?;
        if waited == Waited::TimeOver && SOON < self.arguments.wait {
            let left = self.arguments.wait - SOON;
            say(&format!(
                "waiting up to {} s more: the interpreter is inside a long call of a library, and \
                 looks when it returns",
                left.as_secs()
            ));
            waited = self.signals.wait_until(left, || self.has_begun_or_ended(shared_folder))?;
        }
        if waited == Waited::Done && !shared_folder.has_begun()? {
            return Err(AttachError::EndedMeanwhile(self.target.pid()).into());
        }
        if waited == Waited::TimeOver {
            let why = match injected.route {
                Route::PendingCall => "its first thread is inside a call of a library",
                Route::RemoteExec => "all of its threads wait or are inside calls of libraries",
                Route::WaitingThread => "it could not start a thread",
            };
            bail!(
                "process {} came to no safe point in {} s: {why}. Nothing is left in it; try again, \
                 or wait longer (--wait 10m)",
                self.target.pid(),
                self.arguments.wait.as_secs()
            );
        }
        Ok(waited)
    }

    fn has_begun_or_ended(&self, shared_folder: &mut SharedFolder<'_>) -> Result<bool> {
        Ok(shared_folder.has_begun()? || !self.target.is_alive())
    }

    fn has_answered_or_ended(&self, shared_folder: &mut SharedFolder<'_>) -> Result<bool> {
        Ok(shared_folder.has("answer.json")? || !self.target.is_alive())
    }

    /// Watches; nothing where there is nothing to watch, or the program records by itself.
    fn watch(&self, shared_folder: &mut SharedFolder<'_>) -> Result<Option<Duration>> {
        self.signals.wait_until_second_signal(LONGEST_LOOK, || {
            Ok(shared_folder.has("watching.json")? || self.has_answered_or_ended(shared_folder)?)
        })?;
        if !shared_folder.has("watching.json")? {
            return Ok(None);
        }
        let look: Look = shared_folder.read("watching.json")?;
        let until = match self.arguments.duration {
            Some(duration) => format!("for {} s; Ctrl-C ends it earlier", duration.as_secs()),
            None => "until Ctrl-C".to_owned(),
        };
        say(&format!(
            "recording the history of PyTorch {} {until}",
            visible(look.torch.as_deref().unwrap_or_default())
        ));
        let begun = Instant::now();
        let most = self.arguments.duration.unwrap_or(Duration::MAX);
        self.signals.wait_until(most, || self.has_answered_or_ended(shared_folder))?;
        Ok(Some(begun.elapsed()))
    }

    fn wait_for_answer(&self, shared_folder: &mut SharedFolder<'_>) -> Result<Look> {
        // Nothing is asked of it any more: it ends by itself.
        let waited = self
            .signals
            .wait_until_second_signal(LONGEST_LOOK, || self.has_answered_or_ended(shared_folder))?;
        if waited == Waited::Done && !shared_folder.has("answer.json")? {
            self.signals.wait_until_second_signal(LAST_ACT, || shared_folder.has("answer.json"))?;
        }
        if shared_folder.has("answer.json")? {
            return shared_folder.read("answer.json");
        }
        match waited {
            Waited::Done => Err(AttachError::EndedMeanwhile(self.target.pid()).into()),
            Waited::Interrupted => bail!(
                "interrupted: process {} had not answered; its thread ends by itself",
                self.target.pid()
            ),
            Waited::TimeOver => bail!(
                "process {} did not finish in {} s; its thread ends by itself",
                self.target.pid(),
                LONGEST_LOOK.as_secs()
            ),
        }
    }

    fn bring_home(
        &self,
        shared_folder: &mut SharedFolder<'_>,
        attached: Attached,
    ) -> Result<Found> {
        if attached.look.history == Some(History::Own) && self.arguments.is_watching() {
            say(
                "the program records PyTorch's history by itself: it was left alone, and looked at once",
            );
        }
        if attached.look.state != State::Looked {
            return Ok(Found { attached, folder: None });
        }
        let is_new = self.arguments.output.as_deref().is_none_or(|folder| !folder.exists());
        let folder = make_for(PREFIX, self.arguments.output.as_deref())?;
        if let Err(error) = bring_files(shared_folder, &attached, &folder) {
            // Nothing of it can be used.
            let _ = fs::remove_dir(folder.join(TORCH_FOLDER));
            if is_new {
                let _ = fs::remove_dir(&folder);
            }
            return Err(error);
        }
        Ok(Found { attached, folder: Some(folder) })
    }
}

/// Copies what the process wrote into a folder of ours. What cannot be copied whole leaves nothing there.
fn bring_files(
    shared_folder: &mut SharedFolder<'_>,
    attached: &Attached,
    folder: &Path,
) -> Result<()> {
    let torch = folder.join(TORCH_FOLDER);
    own_folder(&torch)?;
    let pid = attached.pid;
    let snapshot = torch.join(format!("{pid}.pickle"));
    let referrers = folder.join(format!("keepers-{pid}.json"));
    shared_folder.copy_out("snapshot.pickle", MAX_SNAPSHOT_BYTES, &snapshot)?;
    let taken = shared_folder.copy_out("keepers.json", MAX_REFERRERS_BYTES, &referrers);
    let written = taken.and_then(|_| attached.write(folder));
    if written.is_err() {
        for file in [&snapshot, &referrers] {
            let _ = fs::remove_file(file);
        }
    }
    written
}

impl AttachArguments {
    /// Whether a history was asked for.
    fn is_watching(&self) -> bool {
        self.watch || self.duration.is_some()
    }
}
