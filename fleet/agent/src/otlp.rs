//! Incidents as OpenTelemetry's logs and figures as its metrics, by OTLP over HTTP.
//!
//! It is for eyes; the archive is the record. So nothing waits for a receiver: the queue is bounded, a thread of its own
//! sends, and what is not taken is counted and forgotten.

mod logs;
mod metrics;
mod proto;
mod send;

use std::{
    io,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use prost::Message as _;
use whyoom_incident::Incident;

use self::{
    metrics::Times,
    proto::{
        LogRecord, Logs, Metrics as MetricsRequest, Resource, ResourceLogs, ResourceMetrics, Scope,
        ScopeLogs, ScopeMetrics, attribute, text,
    },
    send::Sender,
};
use crate::metrics::Metrics;

pub use self::send::Headers;
pub(crate) use self::send::Receiver;

/// Records that wait.
const QUEUE: usize = 256;
/// Records of a request.
const AT_ONCE: usize = 64;
/// An agent that ends waits so long for what is under way.
const FAREWELL: Duration = Duration::from_secs(3);
const NAME: &str = "whyoom-fleet";

/// Who sends.
#[derive(Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) agent: &'a str,
    pub(crate) node: &'a str,
    pub(crate) cluster: &'a str,
}

/// Where records wait.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    records: mpsc::SyncSender<LogRecord>,
    metrics: Arc<Metrics>,
}

impl Queue {
    /// Never waits: a record for which there is no room is counted and forgotten.
    pub(crate) fn tell(&self, incident: &Incident) {
        if self.records.try_send(logs::record(incident)).is_err() {
            self.metrics.failed("otlp");
        }
    }
}

/// The thread that sends, with one of its queues.
#[derive(Debug)]
pub(crate) struct Otlp {
    pub(crate) queue: Queue,
    thread: thread::JoinHandle<()>,
}

impl Otlp {
    /// Starts the thread.
    ///
    /// # Errors
    /// Where the machine has no room for it, or no authorities by which a receiver could be identified.
    pub(crate) fn start(
        receiver: Receiver,
        every: Duration,
        identity: &Identity<'_>,
        metrics: &Arc<Metrics>,
    ) -> io::Result<Self> {
        let (records, waiting) = mpsc::sync_channel(QUEUE);
        let exporter = Exporter {
            sender: Sender::new(&receiver)?,
            receiver,
            resource: resource(identity),
            metrics: metrics.clone(),
            start: now(),
            is_told: false,
        };
        let thread = thread::Builder::new()
            .name("otlp".into())
            .spawn(move || exporter.run(&waiting, every))?;
        Ok(Self { queue: Queue { records, metrics: metrics.clone() }, thread })
    }

    /// Lets what waits go out, for a moment. Whoever else has a queue is gone by then.
    pub(crate) fn finish(self) {
        drop(self.queue);
        let until = Instant::now() + FAREWELL;
        while !self.thread.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn resource(identity: &Identity<'_>) -> Resource {
    let cluster = Some(identity.cluster).filter(|cluster| !cluster.is_empty());
    let attributes = [
        Some(("service.name", NAME)),
        Some(("service.version", env!("CARGO_PKG_VERSION"))),
        Some(("service.instance.id", identity.agent)),
        Some(("host.name", identity.node)),
        cluster.map(|cluster| ("whyoom.cluster", cluster)),
    ];
    let attributes = attributes.into_iter().flatten();
    Resource { attributes: attributes.map(|(key, value)| attribute(key, text(value))).collect() }
}

fn now() -> u64 {
    u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or_default()
}

struct Exporter {
    sender: Sender,
    receiver: Receiver,
    resource: Resource,
    metrics: Arc<Metrics>,
    start: u64,
    /// Whether it was told that the receiver does not take what it gets.
    is_told: bool,
}

impl Exporter {
    fn run(mut self, waiting: &mpsc::Receiver<LogRecord>, every: Duration) {
        let mut due = Instant::now() + every;
        loop {
            let mut is_last = false;
            match waiting.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(first) => {
                    let others = waiting.try_iter().take(AT_ONCE - 1);
                    self.send_logs([first].into_iter().chain(others).collect());
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => is_last = true,
            }
            if is_last || Instant::now() >= due {
                self.send_metrics();
                due = Instant::now() + every;
            }
            if is_last {
                return;
            }
        }
    }

    fn send_logs(&mut self, log_records: Vec<LogRecord>) {
        let count = log_records.len() as u64;
        let scope_logs = vec![ScopeLogs { scope: Some(scope()), log_records }];
        let resource = Some(self.resource.clone());
        let request = Logs { resource_logs: vec![ResourceLogs { resource, scope_logs }] };
        let sent = self.sender.send(&self.receiver.logs, request.encode_to_vec());
        self.account(sent, count);
    }

    fn send_metrics(&mut self) {
        let times = Times { start: self.start, now: now() };
        let metrics = metrics::metrics(&self.metrics.text(), times);
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics }];
        let resource = Some(self.resource.clone());
        let request =
            MetricsRequest { resource_metrics: vec![ResourceMetrics { resource, scope_metrics }] };
        let sent = self.sender.send(&self.receiver.metrics, request.encode_to_vec());
        self.account(sent, 1);
    }

    /// Counts what was not taken; the first time, says why.
    fn account(&mut self, sent: Result<u64, String>, count: u64) {
        let refused = match sent {
            Ok(refused) => {
                self.is_told = false;
                refused
            }
            Err(why) => {
                if !self.is_told {
                    eprintln!("whyoom-fleet: the receiver of OTLP: {why}");
                }
                self.is_told = true;
                count
            }
        };
        (0..refused.min(count)).for_each(|_| self.metrics.failed("otlp"));
    }
}

fn scope() -> Scope {
    Scope { name: NAME.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::some_incident;

    #[test]
    fn a_full_queue_does_not_keep_the_agent() {
        let metrics = Arc::new(Metrics::new());
        let (records, _waiting) = mpsc::sync_channel(QUEUE);
        let queue = Queue { records, metrics: metrics.clone() };
        (0..QUEUE + 3).for_each(|_| queue.tell(&some_incident()));
        let text = metrics.text();
        assert!(text.contains("whyoom_agent_failures_total{what=\"otlp\"} 3"), "{text}");
    }
}
