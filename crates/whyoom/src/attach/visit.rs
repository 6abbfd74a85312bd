//! One visit to a process: the script gets in, answers, and is gone.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use whyoom_attach::{AttachError, Injected, Interpreter, Route, Target, run_script};
use whyoom_reading::TORCH_FOLDER;

use super::{
    answer::{Attached, History, Look, State},
    exchange::Exchange,
    known,
    patience::{Patience, Waited},
    script::Settings,
};
use crate::{arguments::AttachArguments, run::make_for, sitecustomize::own_folder, terminal::say};

/// PyTorch keeps so many entries, a few hundred bytes each, and drops the oldest beyond.
const ENTRIES: u32 = 100_000;
/// Before it is said that something is waited for.
const SOON: Duration = Duration::from_secs(2);
/// A snapshot of a large history takes some seconds.
const LONGEST_LOOK: Duration = Duration::from_secs(300);
/// What a process that ends still writes.
const LAST_ACT: Duration = Duration::from_millis(200);
/// What the folder is called, before the time.
const PREFIX: &str = "whyoom-attach";

/// Who is visited, and for what.
pub(super) struct Visit<'a> {
    pub(super) arguments: &'a AttachArguments,
    pub(super) target: &'a Target,
    pub(super) patience: &'a Patience,
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
        let watches = self.arguments.is_watching();
        let settings = Settings {
            pid: self.target.pid(),
            referrers: !self.arguments.no_referrers,
            history: watches.then_some(ENTRIES),
        };
        let command = known::command(self.target.pid());
        let mut exchange = Exchange::make(self.target, settings)?;
        let injected = run_script(self.target, interpreter, &exchange.start())?;
        if self.wait_for_begin(&injected, &exchange)? == Waited::Interrupted {
            return Ok(None);
        }
        let watched = if watches { self.watch(&exchange)? } else { None };
        exchange.release();
        let look = self.wait_for_answer(&exchange)?;
        let attached = Attached {
            pid: self.target.pid(),
            command,
            route: injected.route.into(),
            stopped_seconds: injected.stopped.as_secs_f64(),
            watched_seconds: watched.map(|watched| watched.as_secs_f64()),
            look,
        };
        self.bring_home(&exchange, attached).map(Some)
    }

    fn wait_for_begin(&self, injected: &Injected<'_>, exchange: &Exchange) -> Result<Waited> {
        let is_over = || exchange.has_begun() || !self.target.is_alive();
        let mut waited = self.patience.until(SOON.min(self.arguments.wait), is_over);
        if waited == Waited::TimeOver && SOON < self.arguments.wait {
            let left = self.arguments.wait - SOON;
            say(&format!(
                "waiting up to {} s more: the interpreter is inside a long call of a library, and \
                 looks when it returns",
                left.as_secs()
            ));
            waited = self.patience.until(left, is_over);
        }
        if waited == Waited::Done && !exchange.has_begun() {
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

    /// Watches; nothing where there is nothing to watch, or the program records by itself.
    fn watch(&self, exchange: &Exchange) -> Result<Option<Duration>> {
        let is_over = || {
            exchange.has("watching.json") || exchange.has("answer.json") || !self.target.is_alive()
        };
        self.patience.stubbornly(LONGEST_LOOK, is_over);
        if !exchange.has("watching.json") {
            return Ok(None);
        }
        let look: Look = exchange.read("watching.json")?;
        let until = match self.arguments.duration {
            Some(duration) => format!("for {} s; Ctrl-C ends it earlier", duration.as_secs()),
            None => "until Ctrl-C".to_owned(),
        };
        say(&format!(
            "recording the history of PyTorch {} {until}",
            look.torch.as_deref().unwrap_or_default()
        ));
        let begun = Instant::now();
        let most = self.arguments.duration.unwrap_or(Duration::MAX);
        self.patience.until(most, || exchange.has("answer.json") || !self.target.is_alive());
        Ok(Some(begun.elapsed()))
    }

    fn wait_for_answer(&self, exchange: &Exchange) -> Result<Look> {
        let is_over = || exchange.has("answer.json") || !self.target.is_alive();
        // Nothing is asked of it any more: it ends by itself.
        let waited = self.patience.stubbornly(LONGEST_LOOK, is_over);
        if waited == Waited::Done && !exchange.has("answer.json") {
            self.patience.stubbornly(LAST_ACT, || exchange.has("answer.json"));
        }
        match (exchange.has("answer.json"), waited) {
            (true, _) => exchange.read("answer.json"),
            (false, Waited::Done) => Err(AttachError::EndedMeanwhile(self.target.pid()).into()),
            (false, _) => bail!(
                "process {} did not finish in {} s; its thread ends by itself",
                self.target.pid(),
                LONGEST_LOOK.as_secs()
            ),
        }
    }

    fn bring_home(&self, exchange: &Exchange, attached: Attached) -> Result<Found> {
        if attached.look.history == Some(History::Own) && self.arguments.is_watching() {
            say(
                "the program records PyTorch's history by itself: it was left alone, and looked at once",
            );
        }
        if attached.look.state != State::Looked {
            return Ok(Found { attached, folder: None });
        }
        let folder = make_for(PREFIX, self.arguments.output.as_deref())?;
        let torch = folder.join(TORCH_FOLDER);
        own_folder(&torch)?;
        let pid = attached.pid;
        exchange.take("snapshot.pickle", &torch.join(format!("{pid}.pickle")))?;
        exchange.take("keepers.json", &folder.join(format!("keepers-{pid}.json")))?;
        attached.write(&folder)?;
        Ok(Found { attached, folder: Some(folder) })
    }
}

impl AttachArguments {
    /// Whether a history was asked for.
    fn is_watching(&self) -> bool {
        self.watch || self.duration.is_some()
    }
}
