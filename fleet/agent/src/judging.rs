//! The thread that judges what was found, and acknowledges it.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use whyoom_judge::{Judge, Judged};

use crate::{
    journal::Entry,
    ledger::{self, lock},
    metrics::Metrics,
    otlp,
    telling::{Finding, Teller},
    textfile,
};

/// How long an incident waits for room in the journal before it is tried again.
const NO_ROOM: Duration = Duration::from_secs(1);
/// How often a verdict is asked for that could not be had for another reason than what is judged.
const ATTEMPTS: u32 = 5;
/// The pause between.
const RETRY: Duration = Duration::from_secs(2);
/// How often it is asked again after such an error: what took too long once takes long again.
fn attempts_at(error: &io::Error) -> u32 {
    match error.kind() {
        io::ErrorKind::InvalidData => 1,
        io::ErrorKind::TimedOut => 2,
        _ => ATTEMPTS,
    }
}

/// The textfile is written at least as often.
const TEXTFILE: Duration = Duration::from_secs(60);

/// What the thread needs.
pub(crate) struct Judging {
    pub(crate) judge: Judge,
    pub(crate) teller: Teller,
    pub(crate) ledger: ledger::Shared,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) otlp: Option<otlp::Queue>,
    pub(crate) waiting: Arc<AtomicUsize>,
    pub(crate) textfile: Option<PathBuf>,
    pub(crate) who: Option<Duration>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Judging {
    /// Until nothing can be found any more.
    pub(crate) fn run(mut self, found: &mpsc::Receiver<Finding>) {
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
        let (position, dropped) = match finding {
            Finding::Log(found) => (Some(found.position.clone()), None),
            Finding::Dropped(dropped) => (None, Some(dropped.id)),
        };
        let (judged, served_by) = match self.verdict(finding) {
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
        let incident = self.teller.incident(finding, judged, served_by, who, time);
        let entry = Entry { incident, position, dropped };
        let is_acknowledged = self.acknowledge(&entry);
        if is_acknowledged {
            self.metrics.count(&entry.incident);
            self.otlp.iter().for_each(|otlp| otlp.tell(&entry.incident));
        }
        is_acknowledged
    }

    /// What hinders `whyoom` may pass: it is being replaced, or there are too many processes.
    fn verdict(&self, finding: &Finding) -> io::Result<(Judged, Option<Vec<String>>)> {
        let mut attempt = 1;
        loop {
            match self.ask(finding) {
                Err(error) if attempt < attempts_at(&error) && !self.is_stopped() => {
                    attempt += 1;
                    thread::sleep(RETRY);
                }
                judged => return judged,
            }
        }
    }

    /// The verdict, and what would have served the run.
    fn ask(&self, finding: &Finding) -> io::Result<(Judged, Option<Vec<String>>)> {
        let matter = finding.matter()?;
        let judged = self.judge.why(&matter)?;
        // A replay that takes too long is none; the verdict stands without.
        let served_by = self.judge.served_by(&matter).unwrap_or_default();
        Ok((judged, served_by))
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
