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
    iterator::Signals,
};
use whyoom_attach::Interrupts;

use crate::terminal::say;

/// A person does not notice this.
const GLANCE: Duration = Duration::from_millis(10);
/// Signals that come sooner after the first are the same wish: `timeout` sends two. Chosen, not measured.
const SAME_WISH: Duration = Duration::from_millis(300);

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

/// Heeds signals: whatever comes, the process is left as it was. The first signal ends what can be ended at once, the second
/// whatever whyoom waits for.
#[derive(Debug, Default)]
pub(super) struct Patience {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    interrupted: AtomicBool,
    gave_up: AtomicBool,
    /// True while gdb has a function called in the process.
    calls: AtomicBool,
}

impl Patience {
    /// Begins to heed signals. Before, each of them ends whyoom.
    pub(super) fn start(pid: u32) -> Result<Self> {
        let state = Arc::new(State::default());
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let heeded = Arc::clone(&state);
        thread::spawn(move || {
            let mut first = None;
            for _ in signals.forever() {
                let since = *first.get_or_insert_with(Instant::now);
                heeded.heed(since, pid);
            }
        });
        Ok(Self { state })
    }

    /// Says whether gdb has a function called in the process.
    pub(super) fn set_calling(&self, calls: bool) {
        self.state.calls.store(calls, Relaxed);
    }

    /// Waits until something is there.
    pub(super) fn until(
        &self,
        most: Duration,
        is_there: impl FnMut() -> Result<bool>,
    ) -> Result<Waited> {
        self.wait(most, true, is_there)
    }

    /// The same, but only the second signal ends it.
    pub(super) fn stubbornly(
        &self,
        most: Duration,
        is_there: impl FnMut() -> Result<bool>,
    ) -> Result<Waited> {
        self.wait(most, false, is_there)
    }

    fn wait(
        &self,
        most: Duration,
        heed: bool,
        mut is_there: impl FnMut() -> Result<bool>,
    ) -> Result<Waited> {
        let until = Instant::now().checked_add(most);
        loop {
            if is_there()? {
                return Ok(Waited::Done);
            }
            if (heed && self.wants_end()) || self.gives_up() {
                return Ok(Waited::Interrupted);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(Waited::TimeOver);
            }
            thread::sleep(GLANCE);
        }
    }
}

impl Interrupts for Patience {
    fn wants_end(&self) -> bool {
        self.state.interrupted.load(Relaxed)
    }

    fn gives_up(&self) -> bool {
        self.state.gave_up.load(Relaxed)
    }
}

impl State {
    /// Counts a signal, of which the first came at `since`.
    fn heed(&self, since: Instant, pid: u32) {
        if !self.interrupted.swap(true, Relaxed) {
            if self.calls.load(Relaxed) {
                say(&format!(
                    "waiting until gdb has let process {pid} go; Ctrl-C again ends whyoom, and leaves \
                     that to gdb"
                ));
            }
            return;
        }
        if since.elapsed() >= SAME_WISH && !self.gave_up.swap(true, Relaxed) {
            say(&format!("giving up: what still runs in process {pid} for whyoom ends by itself"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_signal_gives_up() {
        let state = State::default();
        let before = Instant::now().checked_sub(SAME_WISH).expect("the machine runs longer");
        state.heed(Instant::now(), 7);
        assert!(state.interrupted.load(Relaxed) && !state.gave_up.load(Relaxed));
        state.heed(Instant::now(), 7);
        assert!(!state.gave_up.load(Relaxed), "the same wish");
        state.heed(before, 7);
        assert!(state.gave_up.load(Relaxed));
    }
}
