//! Signals to end, and waits that they end.

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
    low_level::emulate_default_handler,
};
use whyoom_attach::Interrupts;

use crate::terminal::say;

/// Time between two checks of a wait. A person does not notice it.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Signals within this time after the first count as the first, because `timeout` sends two. Chosen, not measured.
const REPEAT_WINDOW: Duration = Duration::from_millis(300);

/// Reason why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// The condition became true.
    Done,
    /// The time is over.
    TimeOver,
    /// Ctrl-C, or another signal to end.
    Interrupted,
}

/// Handles SIGINT, SIGTERM and SIGHUP. The first signal ends waits that can be ended at once, the second ends all.
#[derive(Debug, Default)]
pub(super) struct SignalState {
    state: Arc<State>,
}

/// Signal that ends a wait.
#[derive(Debug, Clone, Copy)]
enum EndedBy {
    FirstSignal,
    SecondSignal,
}

#[derive(Debug, Default)]
struct State {
    interrupted: AtomicBool,
    gave_up: AtomicBool,
    /// True while gdb calls a function in the process.
    calls: AtomicBool,
    /// True once a signal ends whyoom at once.
    is_default: AtomicBool,
}

impl SignalState {
    /// Begins to handle the signals. Before, each of them ends whyoom.
    pub(super) fn start(pid: u32) -> Result<Self> {
        let state = Arc::new(State::default());
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let counting = Arc::clone(&state);
        thread::spawn(move || {
            let mut first = None;
            for signal in signals.forever() {
                if counting.is_default.load(Relaxed) {
                    let _ = emulate_default_handler(signal);
                }
                let since = *first.get_or_insert_with(Instant::now);
                counting.count_signal(since, pid);
            }
        });
        Ok(Self { state })
    }

    /// Ends the counting: from now on each signal ends whyoom at once, as it does without a handler.
    pub(super) fn restore_default(&self) {
        self.state.is_default.store(true, Relaxed);
    }

    /// Sets whether gdb calls a function in the process.
    pub(super) fn set_calling(&self, calls: bool) {
        self.state.calls.store(calls, Relaxed);
    }

    /// Waits until `is_there` returns true, at most for `most`. The first signal ends the wait.
    pub(super) fn wait_until(
        &self,
        most: Duration,
        is_there: impl FnMut() -> Result<bool>,
    ) -> Result<Waited> {
        self.wait(most, EndedBy::FirstSignal, is_there)
    }

    /// Waits like `wait_until`, but only the second signal ends the wait.
    pub(super) fn wait_until_second_signal(
        &self,
        most: Duration,
        is_there: impl FnMut() -> Result<bool>,
    ) -> Result<Waited> {
        self.wait(most, EndedBy::SecondSignal, is_there)
    }

    fn wait(
        &self,
        most: Duration,
        ended_by: EndedBy,
        mut is_there: impl FnMut() -> Result<bool>,
    ) -> Result<Waited> {
        let until = Instant::now().checked_add(most);
        loop {
            if is_there()? {
                return Ok(Waited::Done);
            }
            let is_ended = match ended_by {
                EndedBy::FirstSignal => self.wants_end(),
                EndedBy::SecondSignal => self.is_second_signal(),
            };
            if is_ended {
                return Ok(Waited::Interrupted);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(Waited::TimeOver);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Interrupts for SignalState {
    fn wants_end(&self) -> bool {
        self.state.interrupted.load(Relaxed)
    }

    fn is_second_signal(&self) -> bool {
        self.state.gave_up.load(Relaxed)
    }
}

impl State {
    /// Counts a signal. The first one came at `since`. Of signals at 0, 100 and 400 ms the third gives up.
    fn count_signal(&self, since: Instant, pid: u32) {
        if !self.interrupted.swap(true, Relaxed) {
            if self.calls.load(Relaxed) {
                say(&format!(
                    "waiting until gdb has let process {pid} go; Ctrl-C again ends whyoom, and leaves \
                     that to gdb"
                ));
            }
            return;
        }
        if since.elapsed() >= REPEAT_WINDOW && !self.gave_up.swap(true, Relaxed) {
            say(&format!(
                "giving up; the code that whyoom started in process {pid} ends by itself"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_after_the_repeat_window_gives_up() {
        let state = State::default();
        let before = Instant::now().checked_sub(REPEAT_WINDOW).expect("the machine runs longer");
        state.count_signal(Instant::now(), 7);
        assert!(state.interrupted.load(Relaxed) && !state.gave_up.load(Relaxed));
        state.count_signal(Instant::now(), 7);
        assert!(!state.gave_up.load(Relaxed), "it came within the window");
        state.count_signal(before, 7);
        assert!(state.gave_up.load(Relaxed));
    }
}
