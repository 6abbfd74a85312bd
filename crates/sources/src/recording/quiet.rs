//! Threads whose blocks need no translation.

use whyoom_trace::{ProcessId, ThreadId};

/// Threads that are remembered, each in a place of its own. A run has few that allocate.
const PLACES: usize = 64;

/// Threads of which nothing waits, and whose pools are called the same on both sides: their blocks go out as they come,
/// but for the name of the process.
#[derive(Debug)]
pub(super) struct Quiet([Option<QuietThread>; PLACES]);

/// A thread by the reader's name of its process, and that process by the name that it has for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QuietThread {
    process: ProcessId,
    thread: ThreadId,
    known: ProcessId,
}

impl Default for Quiet {
    fn default() -> Self {
        Self([None; PLACES])
    }
}

impl Quiet {
    /// What the process of a thread is known as, if the thread is one.
    #[inline(always)]
    pub(super) fn known(&self, process: ProcessId, thread: ThreadId) -> Option<ProcessId> {
        let one = self.0[place(process, thread)]?;
        (one.process == process && one.thread == thread).then_some(one.known)
    }

    /// Notes that a thread is one, with what its process is known as, or that it is none.
    pub(super) fn note(&mut self, process: ProcessId, thread: ThreadId, known: Option<ProcessId>) {
        self.0[place(process, thread)] = known.map(|known| QuietThread { process, thread, known });
    }

    /// None is any more.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn place(process: ProcessId, thread: ThreadId) -> usize {
    (process.0.wrapping_mul(31) ^ thread.0) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_quiet_until_it_is_not() {
        let (mut quiet, process, known) = (Quiet::default(), ProcessId(3), ProcessId(1));
        quiet.note(process, ThreadId(1), Some(known));
        assert_eq!(quiet.known(process, ThreadId(1)), Some(known));
        let same_place = ThreadId(1 + PLACES as u32);
        assert_eq!(quiet.known(process, same_place), None);
        assert_eq!(quiet.known(ProcessId(4), ThreadId(1)), None);
        quiet.note(process, ThreadId(1), None);
        assert_eq!(quiet.known(process, ThreadId(1)), None);
        quiet.note(process, ThreadId(2), Some(known));
        quiet.clear();
        assert_eq!(quiet.known(process, ThreadId(2)), None);
    }
}
