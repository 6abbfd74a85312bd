//! Waiting for a process, until Ctrl-C.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

/// A person does not notice this.
const GLANCE: Duration = Duration::from_millis(10);

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// What was waited for is there.
    Done,
    /// The time is over.
    TimeOver,
    /// Ctrl-C, or another signal to end.
    Interrupted,
}

/// Heeds signals: whatever comes, the process is left as it was.
#[derive(Debug)]
pub(super) struct Patience {
    interrupted: Arc<AtomicBool>,
}

impl Patience {
    pub(super) fn start() -> Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Self { interrupted })
    }

    /// Waits until something is there.
    pub(super) fn until(&self, most: Duration, is_there: impl FnMut() -> bool) -> Waited {
        self.wait(most, true, is_there)
    }

    /// The same, whatever signals come.
    pub(super) fn stubbornly(&self, most: Duration, is_there: impl FnMut() -> bool) -> Waited {
        self.wait(most, false, is_there)
    }

    fn wait(&self, most: Duration, heed: bool, mut is_there: impl FnMut() -> bool) -> Waited {
        let until = Instant::now().checked_add(most);
        loop {
            if is_there() {
                return Waited::Done;
            }
            if heed && self.interrupted.load(Relaxed) {
                return Waited::Interrupted;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Waited::TimeOver;
            }
            thread::sleep(GLANCE);
        }
    }
}
