//! The loop: look, judge, acknowledge, upload.

use std::{
    collections::BTreeSet,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use jiff::Timestamp;
use whyoom_archive::ArchiveError;
use whyoom_logs::{Follower, Start};

use crate::{
    drops::{DropId, Drops},
    journal::{Entry, Journal, JournalError},
    judge::{Judge, Matter},
    metrics::Metrics,
    redaction::Redaction,
    serve,
    settings::Settings,
    state::{Checkpoint, State},
    telling::{Finding, Teller},
    textfile,
    upload::Uploader,
};

/// What was found and waits to be judged. When it is full, logs wait.
const QUEUE: usize = 64;
/// How often files that are new or gone are looked for.
const LOOK: Duration = Duration::from_secs(10);
/// How often positions are saved.
const SAVE: Duration = Duration::from_secs(10);
/// How long an incident waits for room in the journal before it is tried again.
const NO_ROOM: Duration = Duration::from_secs(1);

/// Why the agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// What it remembers cannot be used.
    #[error("what the agent remembers: {0}")]
    State(#[from] io::Error),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A rule of redaction is no regular expression.
    #[error("redact: {0}")]
    Rule(#[from] regex::Error),
    /// The archive cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// Runs until `stop` is set. What is acknowledged then is on disk.
///
/// # Errors
/// Where it cannot start.
pub fn run(settings: &Settings, stop: &AtomicBool) -> Result<(), AgentError> {
    let mut agent = Agent::start(settings)?;
    if let Some(listen) = settings.listen {
        serve::start(listen, agent.metrics.clone())?;
    }
    let wake = agent.uploader(settings).start()?;
    let _ = wake.send(());
    while !stop.load(Ordering::Relaxed) {
        agent.round(settings);
        if agent.seal_when_due(settings.upload()) {
            let _ = wake.send(());
        }
        thread::sleep(settings.poll());
    }
    agent.stop();
    Ok(())
}

/// Reads what is there, judges it, uploads it and ends: for a test or a job of cron. Returns how many incidents
/// are in the archive by that.
///
/// # Errors
/// Where it cannot start, or the archive refuses.
pub fn run_once(settings: &Settings) -> Result<u64, AgentError> {
    let mut agent = Agent::start(settings)?;
    // Twice what makes a message complete, and the time that an upload needs.
    let quiet = Instant::now() + Duration::from_secs(5);
    loop {
        agent.round(settings);
        if Instant::now() >= quiet && agent.is_idle() {
            break;
        }
        thread::sleep(Duration::from_millis(200));
    }
    let metrics = agent.metrics.clone();
    let uploader = agent.uploader(settings);
    agent.stop();
    uploader.upload_all()?;
    Ok(metrics.archived.get())
}

struct Agent {
    state: State,
    agent: String,
    node: String,
    follower: Follower,
    drops: Drops,
    journal: Arc<Mutex<Journal>>,
    metrics: Arc<Metrics>,
    queue: mpsc::SyncSender<Finding>,
    /// What was handed out and is not acknowledged.
    waiting: Arc<AtomicUsize>,
    judging: Option<thread::JoinHandle<()>>,
    looked: Option<Instant>,
    saved: Instant,
    sealed: Instant,
    searched: u64,
}

impl Agent {
    fn start(settings: &Settings) -> Result<Self, AgentError> {
        let state = State::open(&settings.state)?;
        let agent = state.agent()?;
        let node = settings.node_name();
        let (journal, unsealed) = Journal::open(&state.journal(), settings.journal_bytes)?;
        let saved = state.checkpoint()?;
        let is_first = saved.is_none();
        let mut checkpoint = saved.unwrap_or_default();
        for entry in &unsealed {
            checkpoint.add(entry);
        }
        let start = match is_first && !settings.from_start {
            true => Start::Now,
            false => Start::First,
        };
        let follower = Follower::new(&settings.logs, checkpoint.positions(), start);
        let mut drops = Drops::new(&settings.snapshots, &settings.recordings, checkpoint.drops);
        if start == Start::Now {
            drops.skip_all();
        }
        let metrics = Arc::new(Metrics::new());
        let journal = Arc::new(Mutex::new(journal));
        let waiting = Arc::new(AtomicUsize::new(0));
        let (queue, found) = mpsc::sync_channel(QUEUE);
        let judging = Judging {
            judge: Judge::new(settings.whyoom.clone()),
            teller: Teller {
                cluster: settings.cluster.clone(),
                node: node.clone(),
                agent: agent.clone(),
                redaction: Redaction::new(&settings.redact)?,
            },
            journal: journal.clone(),
            metrics: metrics.clone(),
            waiting: waiting.clone(),
            textfile: settings.textfile.clone(),
            who: settings.who(),
        };
        let judging =
            thread::Builder::new().name("judge".into()).spawn(move || judging.run(&found))?;
        let now = Instant::now();
        Ok(Self {
            state,
            agent,
            node,
            follower,
            drops,
            journal,
            metrics,
            queue,
            waiting,
            judging: Some(judging),
            looked: None,
            saved: now,
            sealed: now,
            searched: 0,
        })
    }

    fn uploader(&self, settings: &Settings) -> Uploader {
        Uploader {
            archive: settings.archive.clone(),
            node: self.node.clone(),
            agent: self.agent.clone(),
            journal: self.journal.clone(),
            metrics: self.metrics.clone(),
        }
    }

    fn journal(&self) -> std::sync::MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }

    /// Looks at everything once.
    fn round(&mut self, settings: &Settings) {
        let now = Instant::now();
        let is_look = self.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK);
        if is_look {
            self.follower.look();
            self.looked = Some(now);
        }
        // When positions are to be saved or the journal is to be sealed, what was found is judged first.
        let is_draining = self.is_save_due(now) || self.is_seal_due(now, settings.upload());
        let room = match is_draining {
            true => 0,
            false => QUEUE.saturating_sub(self.waiting.load(Ordering::Acquire)),
        };
        let found = self.follower.poll(now, room);
        let found = found.into_iter().map(|found| Finding::Log(Box::new(found)));
        let mut found: Vec<Finding> = found.collect();
        if is_look {
            let room = room - found.len();
            let dropped = self.drops.take(SystemTime::now(), room);
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
        if self.is_save_due(now) && self.is_idle() {
            self.save();
        }
    }

    fn tell_figures(&mut self) {
        self.metrics.log_bytes.inc_by(self.follower.searched - self.searched);
        self.searched = self.follower.searched;
        self.metrics.log_files.set(self.follower.files() as i64);
        self.metrics.journal.set(self.journal().bytes() as i64);
    }

    fn is_save_due(&self, now: Instant) -> bool {
        now.duration_since(self.saved) >= SAVE
    }

    fn is_seal_due(&self, now: Instant, after: Duration) -> bool {
        now.duration_since(self.sealed) >= after && self.journal().has_open()
    }

    /// Saves how far everything was read. Only while nothing waits to be acknowledged.
    fn save(&mut self) -> bool {
        let drops: BTreeSet<DropId> = self.drops.seen();
        let checkpoint = Checkpoint::new(self.follower.positions(), drops);
        self.saved = Instant::now();
        let saved = self.state.save(&checkpoint);
        if saved.is_err() {
            self.metrics.failed("state");
        }
        saved.is_ok()
    }

    /// Seals the journal's file when it is due and nothing waits. Returns whether something is to be uploaded.
    fn seal_when_due(&mut self, after: Duration) -> bool {
        let is_due = self.is_seal_due(Instant::now(), after) && self.is_idle();
        is_due && self.seal()
    }

    fn seal(&mut self) -> bool {
        // First how far was read: what is sealed is forgotten once it is in the archive.
        if !self.save() {
            return false;
        }
        self.sealed = Instant::now();
        let sealed = self.journal().seal();
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
            self.seal();
        }
    }
}

/// The thread that judges.
struct Judging {
    judge: Judge,
    teller: Teller,
    journal: Arc<Mutex<Journal>>,
    metrics: Arc<Metrics>,
    waiting: Arc<AtomicUsize>,
    textfile: Option<std::path::PathBuf>,
    who: Option<Duration>,
}

impl Judging {
    fn run(mut self, found: &mpsc::Receiver<Finding>) {
        loop {
            let next = match self.who {
                Some(every) => found.recv_timeout(every),
                None => found.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(finding) => {
                    self.judge(&finding);
                    self.waiting.fetch_sub(1, Ordering::AcqRel);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => drop(self.look()),
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            if let Some(path) = &self.textfile
                && textfile::write(path, &self.metrics.text()).is_err()
            {
                self.metrics.failed("textfile");
            }
        }
    }

    fn look(&mut self) -> Option<serde_json::Value> {
        let who = self.judge.who(Instant::now());
        match &who {
            Some(who) => self.metrics.look_at(who),
            None => self.metrics.failed("who"),
        }
        who
    }

    fn judge(&mut self, finding: &Finding) {
        let who = self.look();
        let (matter, position, dropped) = match finding {
            Finding::Log(found) => {
                (Matter::Text(found.text.clone()), Some(found.position.clone()), None)
            }
            Finding::Dropped(dropped) => {
                (Matter::Path(dropped.path.clone(), dropped.source), None, Some(dropped.id))
            }
        };
        let judged = match self.judge.why(matter) {
            Ok(judged) => judged,
            Err(_) => {
                // Counted, and not told as an incident: nothing is known of it.
                self.metrics.failed("why");
                return;
            }
        };
        if judged.verdict.cause == "healthy" {
            self.metrics.dismissed.inc();
            return;
        }
        let time = Timestamp::now().as_microsecond();
        let incident = self.teller.incident(finding, judged, who, time);
        self.metrics.count(&incident);
        self.acknowledge(&Entry { incident, position, dropped });
    }

    /// Until there is room: meanwhile the queue fills, and logs wait.
    fn acknowledge(&self, entry: &Entry) {
        loop {
            let appended =
                self.journal.lock().unwrap_or_else(PoisonError::into_inner).append(entry);
            match appended {
                Ok(()) => return,
                Err(error) => {
                    self.metrics.failed("journal");
                    eprintln!("whyoom-fleet: {error}");
                    thread::sleep(NO_ROOM);
                }
            }
        }
    }
}
