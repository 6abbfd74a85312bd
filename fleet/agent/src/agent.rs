//! The loop: look, judge, acknowledge, upload.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use rustix::process::{Resource, Rlimit};
use whyoom_archive::{Archive, ArchiveError};
use whyoom_judge::Judge;
use whyoom_logs::{Follower, Journald, Start};

use crate::{
    drops::Drops,
    journal::JournalError,
    judging::Judging,
    ledger::{self, Ledger, lock},
    metrics::Metrics,
    otlp::{self, Otlp},
    serve,
    settings::{Settings, SettingsError},
    state::State,
    telling::{Finding, Teller},
    upload::Uploader,
};

/// What was found and waits to be judged. When it is full, logs wait.
const QUEUE: usize = 64;
/// How often files that are new or gone are looked for.
const LOOK: Duration = Duration::from_secs(10);
/// How often positions are saved.
const SAVE: Duration = Duration::from_secs(10);

/// Why the agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// What it remembers cannot be used.
    #[error("what the agent remembers: {0}")]
    State(#[from] io::Error),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The archive cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Metrics cannot be served.
    #[error("listen: {0}")]
    Listen(io::Error),
    /// A thread of it has ended.
    #[error("the thread that {0} has ended; start the agent again")]
    Thread(&'static str),
}

/// Runs until `stop` is set. What is acknowledged then is on disk.
///
/// # Errors
/// Where it cannot start, or a part of it has ended.
pub fn run(settings: &Settings, stop: &Arc<AtomicBool>) -> Result<(), AgentError> {
    // An address that names no store is told now, not with the first incident.
    Archive::open(&settings.archive)?;
    let mut agent = Agent::start(settings, stop)?;
    if let Some(listen) = settings.listen {
        serve::start(listen, settings.guard()?, agent.metrics.clone())
            .map_err(AgentError::Listen)?;
    }
    let (wake, uploading) = agent.uploader(settings).start()?;
    let _ = wake.send(());
    while !stop.load(Ordering::Relaxed) {
        if agent.judging.as_ref().is_some_and(thread::JoinHandle::is_finished) {
            return Err(AgentError::Thread("judges"));
        }
        if uploading.is_finished() {
            return Err(AgentError::Thread("uploads"));
        }
        agent.round();
        if agent.seal_when_due(settings.upload()) {
            let _ = wake.send(());
        }
        thread::sleep(settings.poll());
    }
    let otlp = agent.otlp.take();
    agent.stop();
    otlp.into_iter().for_each(Otlp::finish);
    Ok(())
}

/// Reads what is there, judges it, uploads it and ends: for a test or a job of cron. Returns how many incidents
/// are in the archive by that.
///
/// # Errors
/// Where it cannot start, or the archive refuses.
pub fn run_once(settings: &Settings) -> Result<u64, AgentError> {
    let mut agent = Agent::start(settings, &Arc::default())?;
    let uploader = agent.uploader(settings);
    loop {
        agent.round();
        if agent.judging.as_ref().is_some_and(thread::JoinHandle::is_finished) {
            return Err(AgentError::Thread("judges"));
        }
        if agent.is_read() && agent.is_idle() {
            break;
        }
        // A journal that is full is emptied meanwhile.
        if agent.seal_when_due(Duration::from_secs(1)) {
            uploader.upload_all()?;
        }
        thread::sleep(Duration::from_millis(200));
    }
    let (metrics, otlp) = (agent.metrics.clone(), agent.otlp.take());
    agent.stop();
    let uploaded = uploader.upload_all();
    otlp.into_iter().for_each(Otlp::finish);
    uploaded?;
    Ok(metrics.archived.get())
}

struct Agent {
    agent: String,
    node: String,
    follower: Follower,
    journald: Option<Journald>,
    drops: Drops,
    ledger: ledger::Shared,
    metrics: Arc<Metrics>,
    otlp: Option<Otlp>,
    queue: mpsc::SyncSender<Finding>,
    /// What was handed out and is not acknowledged.
    waiting: Arc<AtomicUsize>,
    judging: Option<thread::JoinHandle<()>>,
    looked: Option<Instant>,
    /// What was left is to be looked for, as soon as there is room.
    is_drops_due: bool,
    saved: Option<Instant>,
    sealed: Instant,
    searched: u64,
    lost: u64,
}

impl Agent {
    fn start(settings: &Settings, stop: &Arc<AtomicBool>) -> Result<Self, AgentError> {
        raise_files_limit();
        let state = State::open(&settings.state)?;
        let agent = state.agent()?;
        let node = settings.node_name();
        let (ledger, known) = Ledger::open(state, settings.journal_bytes)?;
        let start = match known.is_none() && !settings.from_start {
            true => Start::Now,
            false => Start::First,
        };
        let checkpoint = known.unwrap_or_default();
        let mut logs = Settings::patterns(&settings.logs)?;
        let journald = match &settings.journald {
            Some(journal) => {
                let start = if settings.from_start { Start::First } else { Start::Now };
                logs.extend(Journald::pattern(&settings.state).ok());
                Some(Journald::new(journal.clone(), &settings.state, start)?)
            }
            None => None,
        };
        let follower = Follower::new(logs, checkpoint.positions(), start);
        let snapshots = Settings::patterns(&settings.snapshots)?;
        let recordings = Settings::patterns(&settings.recordings)?;
        let mut drops = Drops::new(snapshots, recordings, checkpoint.drops);
        if start == Start::Now {
            drops.skip_all();
        }
        let metrics = Arc::new(Metrics::new());
        let identity = otlp::Identity { agent: &agent, node: &node, cluster: &settings.cluster };
        let otlp = settings
            .receiver()?
            .map(|(receiver, every)| Otlp::start(receiver, every, &identity, &metrics));
        let otlp =
            otlp.transpose().map_err(|error| SettingsError::Otlp(format!("otlp: {error}")))?;
        let ledger = Arc::new(std::sync::Mutex::new(ledger));
        let waiting = Arc::new(AtomicUsize::new(0));
        let (queue, found) = mpsc::sync_channel(QUEUE);
        let judging = Judging {
            judge: Judge::new(settings.whyoom.clone(), settings.replay.clone()),
            teller: Teller {
                cluster: settings.cluster.clone(),
                node: node.clone(),
                agent: agent.clone(),
                redaction: settings.redaction()?,
            },
            ledger: ledger.clone(),
            metrics: metrics.clone(),
            otlp: otlp.as_ref().map(|otlp| otlp.queue.clone()),
            waiting: waiting.clone(),
            textfile: settings.textfile.clone(),
            who: settings.who(),
            stop: stop.clone(),
        };
        let judging =
            thread::Builder::new().name("judge".into()).spawn(move || judging.run(&found))?;
        Ok(Self {
            agent,
            node,
            follower,
            journald,
            drops,
            ledger,
            metrics,
            otlp,
            queue,
            waiting,
            judging: Some(judging),
            looked: None,
            is_drops_due: true,
            saved: None,
            sealed: Instant::now(),
            searched: 0,
            lost: 0,
        })
    }

    fn uploader(&self, settings: &Settings) -> Uploader {
        Uploader {
            archive: settings.archive.clone(),
            node: self.node.clone(),
            agent: self.agent.clone(),
            ledger: self.ledger.clone(),
            metrics: self.metrics.clone(),
        }
    }

    fn is_idle(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }

    /// Whether everything that is there was read and handed out.
    fn is_read(&self) -> bool {
        let is_journal_read = self.journald.as_ref().is_none_or(Journald::is_done);
        is_journal_read && self.follower.is_done() && !self.is_drops_due
    }

    /// What units have printed becomes logs.
    fn pump(&mut self) {
        let Some(journald) = &mut self.journald else { return };
        let failures = journald.failures;
        if journald.pump().is_err() || journald.failures > failures {
            self.metrics.failed("journald");
        }
        if std::mem::take(&mut journald.has_new_logs) {
            self.looked = None;
        }
    }

    /// Looks at everything once.
    fn round(&mut self) {
        if self.waiting.load(Ordering::Acquire) < QUEUE {
            self.pump();
        }
        let now = Instant::now();
        if self.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK) {
            self.follower.look(now);
            self.looked = Some(now);
            self.is_drops_due = true;
        }
        // When positions are to be saved, what was found is judged first.
        let is_save_due = self.saved.is_none_or(|saved| now.duration_since(saved) >= SAVE);
        if is_save_due && self.is_idle() {
            self.save();
        }
        let room = match is_save_due && !self.is_idle() {
            true => 0,
            false => QUEUE.saturating_sub(self.waiting.load(Ordering::Acquire)),
        };
        let found = self.follower.poll(now, room);
        let room = room - found.len();
        let found = found.into_iter().map(|found| Finding::Log(Box::new(found)));
        let mut found: Vec<Finding> = found.collect();
        if self.is_drops_due && room > 0 {
            let dropped = self.drops.take(SystemTime::now(), room);
            self.is_drops_due = dropped.len() == room;
            found.extend(dropped.into_iter().map(Finding::Dropped));
        }
        for finding in found {
            self.waiting.fetch_add(1, Ordering::AcqRel);
            if self.queue.send(finding).is_err() {
                // The thread that judges is gone: positions are never saved behind this.
                self.metrics.failed("judge");
            }
        }
        self.tell_figures();
    }

    fn tell_figures(&mut self) {
        self.metrics.log_bytes.inc_by(self.follower.searched - self.searched);
        self.searched = self.follower.searched;
        self.metrics.lost.inc_by(self.follower.lost - self.lost);
        self.lost = self.follower.lost;
        self.metrics.log_files.set(self.follower.files() as i64);
        self.metrics.passed_over.set(self.follower.passed_over as i64);
        self.metrics.journal.set(lock(&self.ledger).bytes() as i64);
    }

    /// Saves how far everything was read. Only while nothing waits to be acknowledged.
    fn save(&mut self) {
        let (positions, drops) = (self.follower.positions(), self.drops.seen());
        self.saved = Some(Instant::now());
        if lock(&self.ledger).save(positions, drops).is_err() {
            self.metrics.failed("state");
        }
    }

    /// Seals the journal's file when it is due. Returns whether something is to be uploaded.
    fn seal_when_due(&mut self, after: Duration) -> bool {
        let mut ledger = lock(&self.ledger);
        // Once it is half full it is due at once.
        let is_due = self.sealed.elapsed() >= after || ledger.is_half_full();
        if !is_due || !ledger.has_open() {
            return !ledger.sealed().is_empty() && is_due;
        }
        self.sealed = Instant::now();
        let sealed = ledger.seal();
        if sealed.is_err() {
            self.metrics.failed("journal");
        }
        sealed.is_ok()
    }

    /// Judges what was handed out, and saves.
    fn stop(mut self) {
        let (closed, _) = mpsc::sync_channel(0);
        drop(std::mem::replace(&mut self.queue, closed));
        if let Some(judging) = self.judging.take() {
            let _ = judging.join();
        }
        if self.is_idle() {
            self.save();
        }
        if lock(&self.ledger).seal().is_err() {
            self.metrics.failed("journal");
        }
    }
}

/// A log that is followed is an open file.
fn raise_files_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Where it stays, files that cannot be opened are counted.
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}
