//! The question before a signal is sent.

use whyoom_node::{NodeReport, Origin};

use super::entry::{Entry, same_start};

/// A signal that can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Asks it to end: what it wants to save, it can.
    Terminate,
    /// As Ctrl-C in its terminal.
    Interrupt,
    /// Ends it at once: it saves nothing.
    Kill,
}

impl Signal {
    pub(crate) const ALL: [Self; 3] = [Self::Terminate, Self::Interrupt, Self::Kill];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Terminate => "TERM",
            Self::Interrupt => "INT",
            Self::Kill => "KILL",
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Terminate => "asks it to exit",
            Self::Interrupt => "like Ctrl-C in its terminal",
            Self::Kill => "kills it at once: nothing is saved",
        }
    }

    /// The one beside it.
    pub(crate) fn step(self, forward: bool) -> Self {
        let here = Self::ALL.iter().position(|signal| *signal == self).unwrap_or(0);
        let by = if forward { 1 } else { Self::ALL.len() - 1 };
        Self::ALL[(here + by) % Self::ALL.len()]
    }
}

/// A process that a signal is meant for, as it was when the question was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) pid: u32,
    /// Its start, in nanoseconds since 1970: a later process of the same number has another.
    pub(crate) started: u64,
    pub(crate) user: Option<String>,
    pub(crate) command: Option<String>,
    /// What it holds, by device.
    pub(crate) holds: Vec<(u32, Option<u64>)>,
}

impl Target {
    /// The process of a row, or why no signal can be sent to it.
    pub(crate) fn of(entry: &Entry<'_>, report: &NodeReport) -> Result<Self, String> {
        let (pid, holder) = (entry.holder.pid, entry.holder);
        if holder.origin == Origin::Ghost {
            return Err(format!("process {pid} is not visible from here and cannot be signalled"));
        }
        let Some(started) = holder.started else {
            return Err(format!(
                "the start time of process {pid} cannot be read, so its PID may be reused: nothing \
                 sent"
            ));
        };
        Ok(Self {
            pid,
            started,
            user: holder.user.clone(),
            command: holder.command.clone(),
            holds: holds(report, pid),
        })
    }

    /// Whether a report still has it.
    pub(crate) fn is_in(&self, report: &NodeReport) -> bool {
        let mut holders = report.devices.iter().flat_map(|device| &device.holders);
        holders
            .any(|holder| holder.pid == self.pid && same_start(holder.started, Some(self.started)))
    }
}

/// What a process holds, by device.
pub(crate) fn holds(report: &NodeReport, pid: u32) -> Vec<(u32, Option<u64>)> {
    let mut held = Vec::new();
    for device in &report.devices {
        for holder in device.holders.iter().filter(|holder| holder.pid == pid) {
            held.push((device.device.index, holder.bytes));
        }
    }
    held
}

/// A question that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Confirmation {
    pub(crate) target: Target,
    pub(crate) signal: Signal,
}
