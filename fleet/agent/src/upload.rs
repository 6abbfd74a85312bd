//! From the journal to the archive, in a thread of its own: a store that does not answer keeps nobody else.

use std::{
    io,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use whyoom_archive::{Archive, ArchiveError, Key};

use crate::{
    journal::Sealed,
    ledger::{self, lock},
    metrics::Metrics,
};

/// After a failure, the first pause; each next one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What an upload needs to know.
#[derive(Debug)]
pub(crate) struct Uploader {
    pub(crate) archive: String,
    pub(crate) node: String,
    pub(crate) agent: String,
    pub(crate) ledger: ledger::Shared,
    pub(crate) metrics: Arc<Metrics>,
}

impl Uploader {
    /// Starts the thread. It looks whenever it is told, and when a pause after a failure is over.
    pub(crate) fn start(self) -> io::Result<(mpsc::Sender<()>, thread::JoinHandle<()>)> {
        let (send, receive) = mpsc::channel();
        let thread = thread::Builder::new().name("upload".into()).spawn(move || {
            let mut pause = FIRST_PAUSE;
            let mut failed = false;
            loop {
                let told = match failed {
                    true => receive.recv_timeout(pause),
                    false => receive.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
                };
                if told == Err(mpsc::RecvTimeoutError::Disconnected) {
                    return;
                }
                failed = self.upload_all().is_err();
                pause = if failed { (2 * pause).min(LONGEST_PAUSE) } else { FIRST_PAUSE };
            }
        })?;
        Ok((send, thread))
    }

    /// Uploads whatever is sealed, the oldest first.
    pub(crate) fn upload_all(&self) -> Result<(), ArchiveError> {
        let sealed = lock(&self.ledger).sealed();
        if sealed.is_empty() {
            return Ok(());
        }
        let archive = Archive::open(&self.archive).inspect_err(|error| self.failed(error))?;
        let mut ended = Ok(());
        for one in sealed {
            // One that cannot be uploaded does not keep the others.
            match self.upload(&archive, &one) {
                Ok(count) => {
                    self.metrics.archived.inc_by(count);
                    if lock(&self.ledger).remove(one.number).is_err() {
                        self.metrics.failed("journal");
                    }
                }
                Err(error) => {
                    self.failed(&error);
                    ended = Err(error);
                }
            }
        }
        ended
    }

    fn failed(&self, error: &ArchiveError) {
        self.metrics.failed("upload");
        eprintln!("whyoom-fleet: {error}");
    }

    fn upload(&self, archive: &Archive, sealed: &Sealed) -> Result<u64, ArchiveError> {
        let incidents = sealed.incidents().map_err(io::Error::other)?;
        let Some(first) = incidents.first() else { return Ok(0) };
        let key = Key {
            time: Timestamp::from_microsecond(first.time).unwrap_or(Timestamp::UNIX_EPOCH),
            node: self.node.clone(),
            agent: self.agent.clone(),
            number: sealed.number,
        };
        archive.put(&key, &incidents)?;
        Ok(incidents.len() as u64)
    }
}
