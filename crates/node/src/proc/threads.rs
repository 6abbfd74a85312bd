//! The threads of a process: their states, and whether one that waits uninterruptibly really hangs.

use std::{thread, time::Duration};

use super::{root::Root, stat::Stat, status::Status};
use crate::capture::{Process, Thread};

/// Threads that are looked at in one go: a thousand take about ten milliseconds.
const MOST_THREADS: u32 = 4000;
/// Of one process.
const MOST_OF_ONE: usize = 256;
/// Between two samples at a thread in state D: ordinary reading from a disk is over by then.
const PAUSE: Duration = Duration::from_millis(20);

/// What is left of the threads that may be looked at.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u32,
    pub(crate) skipped: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: MOST_THREADS, skipped: 0 }
    }
}

impl Budget {
    /// How many of that many threads may be looked at.
    fn take(&mut self, wanted: usize) -> usize {
        let granted = wanted.min(MOST_OF_ONE).min(self.left as usize);
        self.left = self.left.saturating_sub(u32::try_from(granted).unwrap_or(u32::MAX));
        self.skipped += u32::try_from(wanted - granted).unwrap_or(u32::MAX);
        granted
    }
}

/// The threads of a process whose first thread is in this state.
pub(crate) fn read(root: &Root, pid: u32, first: &Stat, budget: &mut Budget) -> Vec<Thread> {
    let mut threads = vec![thread(root, pid, pid, first.state)];
    if first.threads > 1 {
        let mut others = root.numbers(format!("{pid}/task")).unwrap_or_default();
        others.retain(|tid| *tid != pid);
        let granted = budget.take(others.len());
        threads.extend(others.into_iter().take(granted).filter_map(|tid| {
            let stat = Stat::parse(&root.text(format!("{pid}/task/{tid}/stat"))?)?;
            Some(thread(root, pid, tid, stat.state))
        }));
    }
    threads
}

/// A thread; where it waits is read only where that matters.
fn thread(root: &Root, pid: u32, tid: u32, state: char) -> Thread {
    let waits_in = (state == 'D').then(|| root.text(format!("{pid}/task/{tid}/wchan"))).flatten();
    // The kernel writes 0 for "nowhere" and for "you may not know".
    let waits_in = waits_in.filter(|function| !function.is_empty() && function != "0");
    Thread { tid, state, waits_in, still_waiting: false }
}

/// Looks again at threads in state D, after a pause where there are any: one that has not run in
/// between hangs as far as can be told.
pub(crate) fn look_again(root: &Root, processes: &mut [Process]) {
    let switches = |pid: u32, tid: u32| {
        root.text(format!("{pid}/task/{tid}/status")).and_then(|text| Status::parse(&text).switches)
    };
    let mut before = Vec::new();
    for process in &mut *processes {
        for waiting in process.threads.iter().filter(|thread| thread.state == 'D') {
            before.push(switches(process.pid, waiting.tid));
        }
    }
    if before.is_empty() {
        return;
    }
    thread::sleep(PAUSE);
    let mut before = before.into_iter();
    for process in processes {
        let pid = process.pid;
        for waiting in process.threads.iter_mut().filter(|thread| thread.state == 'D') {
            let then = before.next().flatten();
            let stat = root.text(format!("{pid}/task/{}/stat", waiting.tid));
            let still =
                stat.and_then(|line| Stat::parse(&line)).is_some_and(|stat| stat.state == 'D');
            waiting.still_waiting = still && then == switches(pid, waiting.tid);
        }
    }
}
