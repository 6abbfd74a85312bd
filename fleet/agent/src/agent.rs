//! The loop: look, judge, acknowledge, upload.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use jiff::Timestamp;
use rustix::process::{Resource, Rlimit};
use whyoom_archive::{Archive, ArchiveError};
use whyoom_logs::{Follower, Start};

use crate::{
    drops::Drops,
    journal::{Entry, JournalError},
    judge::{Judge, Judged, Matter},
    ledger::{self, Ledger, lock},
    metrics::Metrics,
    serve,
    settings::{Settings, SettingsError},
    state::State,
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
/// How often a verdict is asked for that could not be had for another reason than what is judged.
const ATTEMPTS: u32 = 5;
/// The pause between.
const RETRY: Duration = Duration::from_secs(2);

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
        serve::start(listen, agent.metrics.clone())?;
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
    agent.stop();
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
        if agent.follower.is_done() && agent.is_idle() && !agent.is_drops_due {
            break;
        }
        // A journal that is full is emptied meanwhile.
        if agent.seal_when_due(Duration::from_secs(1)) {
            uploader.upload_all()?;
        }
        thread::sleep(Duration::from_millis(200));
    }
    let metrics = agent.metrics.clone();
    agent.stop();
    uploader.upload_all()?;
    Ok(metrics.archived.get())
}

struct Agent {
    agent: String,
    node: String,
    follower: Follower,
    drops: Drops,
    ledger: ledger::Shared,
    metrics: Arc<Metrics>,
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
        let logs = Settings::patterns(&settings.logs)?;
        let follower = Follower::new(logs, checkpoint.positions(), start);
        let snapshots = Settings::patterns(&settings.snapshots)?;
        let recordings = Settings::patterns(&settings.recordings)?;
        let mut drops = Drops::new(snapshots, recordings, checkpoint.drops);
        if start == Start::Now {
            drops.skip_all();
        }
        let metrics = Arc::new(Metrics::new());
        let ledger = Arc::new(std::sync::Mutex::new(ledger));
        let waiting = Arc::new(AtomicUsize::new(0));
        let (queue, found) = mpsc::sync_channel(QUEUE);
        let judging = Judging {
            judge: Judge::new(settings.whyoom.clone()),
            teller: Teller {
                cluster: settings.cluster.clone(),
                node: node.clone(),
                agent: agent.clone(),
                redaction: settings.redaction()?,
            },
            ledger: ledger.clone(),
            metrics: metrics.clone(),
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
            drops,
            ledger,
            metrics,
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

    /// Looks at everything once.
    fn round(&mut self) {
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

/// The thread that judges.
struct Judging {
    judge: Judge,
    teller: Teller,
    ledger: ledger::Shared,
    metrics: Arc<Metrics>,
    waiting: Arc<AtomicUsize>,
    textfile: Option<PathBuf>,
    who: Option<Duration>,
    stop: Arc<AtomicBool>,
}

/// The textfile is written at least as often.
const TEXTFILE: Duration = Duration::from_secs(60);

impl Judging {
    fn run(mut self, found: &mpsc::Receiver<Finding>) {
        loop {
            match found.recv_timeout(self.who.unwrap_or(TEXTFILE)) {
                Ok(finding) => {
                    if self.judge(&finding) {
                        self.waiting.fetch_sub(1, Ordering::AcqRel);
                    }
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

    /// Who holds memory, where the site wants to know.
    fn look(&mut self) -> Option<serde_json::Value> {
        self.who?;
        let who = self.judge.who(Instant::now());
        match &who {
            Some(who) => self.metrics.look_at(who),
            None => self.metrics.failed("who"),
        }
        who
    }

    /// Whether it is done with: acknowledged, or not to be had.
    fn judge(&mut self, finding: &Finding) -> bool {
        let who = self.look();
        let (matter, position, dropped) = match finding {
            Finding::Log(found) => {
                (Matter::Text(found.text.clone()), Some(found.position.clone()), None)
            }
            Finding::Dropped(dropped) => (Matter::Left(dropped.clone()), None, Some(dropped.id)),
        };
        let judged = match self.verdict(&matter) {
            Ok(judged) => judged,
            Err(error) => {
                // Counted, and not told as an incident: nothing is known of it.
                self.metrics.failed("why");
                eprintln!("whyoom-fleet: no verdict: {error}");
                return !self.is_stopped();
            }
        };
        if judged.says_nothing() && matches!(finding, Finding::Dropped(_)) {
            // Garbage under the name of a recording is no time that a program ran out of memory.
            self.metrics.failed("why");
            return true;
        }
        if judged.verdict.cause == "healthy" {
            self.metrics.dismissed.inc();
            return true;
        }
        let time = Timestamp::now().as_microsecond();
        let incident = self.teller.incident(finding, judged, who, time);
        let entry = Entry { incident, position, dropped };
        let is_acknowledged = self.acknowledge(&entry);
        if is_acknowledged {
            self.metrics.count(&entry.incident);
        }
        is_acknowledged
    }

    /// What hinders `whyoom` may pass: it is being replaced, or there are too many processes.
    fn verdict(&self, matter: &Matter) -> io::Result<Judged> {
        let mut attempt = 1;
        loop {
            match self.judge.why(matter) {
                Err(error)
                    if error.kind() != io::ErrorKind::InvalidData
                        && attempt < ATTEMPTS
                        && !self.is_stopped() =>
                {
                    attempt += 1;
                    thread::sleep(RETRY);
                }
                judged => return judged,
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Until there is room: meanwhile the queue fills, and logs wait. An agent that is told to stop finds it again.
    fn acknowledge(&self, entry: &Entry) -> bool {
        let mut is_told = false;
        loop {
            match lock(&self.ledger).append(entry) {
                Ok(()) => return true,
                Err(_) if self.is_stopped() => return false,
                Err(error) if !is_told => {
                    is_told = true;
                    self.metrics.failed("journal");
                    eprintln!("whyoom-fleet: {error}");
                }
                Err(_) => {}
            }
            thread::sleep(NO_ROOM);
        }
    }
}
