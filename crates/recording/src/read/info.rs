//! What a recording tells of each process.

use whyoom_trace::Time;

/// How a process's part of a recording ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The process ended and said so.
    InOrder,
    /// The process replaced its program by another, which has a part of its own.
    Replaced,
    /// The process still runs.
    Running,
    /// The process ended without a word: it was killed, or left by the shortest way.
    #[default]
    Untold,
}

/// One process of a recording, or one of the programs that it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartInfo {
    /// What its files' names begin with.
    pub stem: String,
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks after the machine did: with the number it names the process.
    pub start_ticks: u64,
    /// Which of the process's programs it is, counted from 0.
    pub program: u32,
    /// When recording started in it.
    pub started: Time,
    /// Its parent's number.
    pub parent: u32,
    /// Its arguments. Empty where the kernel did not tell.
    pub command: Vec<String>,
    /// How it ended.
    pub ending: Ending,
    /// Why recording stopped before that; empty where it did not.
    pub stopped: String,
    /// Allocations that failed.
    pub failures: u32,
    /// Events that its threads told of; each may have written a few hundred more.
    pub events: u64,
    /// Ring mode: the most that its segments may take.
    pub limit: Option<u64>,
    /// Ring mode: events that were dropped.
    pub dropped_events: u64,
    /// Ring mode: no event that was dropped is younger. From here on everything is there.
    pub dropped_until: Option<Time>,
    /// Ring mode: events that have a stand-in for their stack.
    pub stand_ins: u64,
}

impl PartInfo {
    /// The name that the process has in the tables after [`crate::Recording::read`].
    #[must_use]
    pub fn name(&self) -> String {
        let command = self.command.join(" ");
        let (command, pid) = (command.trim(), self.pid);
        if command.is_empty() { format!("PID {pid}") } else { format!("{command} (PID {pid})") }
    }
}
