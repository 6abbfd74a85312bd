//! A process on a device, which is what a row of the table shows.

use whyoom_node::{DeviceReport, Holder, Origin, State};

/// A process on a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) device: &'a DeviceReport,
    pub(crate) holder: &'a Holder,
}

/// What makes a process the same one in the next report: its number alone may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u32,
    pub(crate) pid: u32,
    pub(crate) started: Option<u64>,
}

impl Entry<'_> {
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            device: self.device.device.index,
            pid: self.holder.pid,
            started: self.holder.started,
        }
    }

    pub(crate) fn standing(&self) -> ProcessState {
        ProcessState::of(self.holder)
    }
}

impl Identity {
    /// The same process, on whichever device.
    pub(crate) fn same_process(&self, other: &Self) -> bool {
        self.pid == other.pid && same_start(self.started, other.started)
    }
}

/// A start is the machine's start plus the process's ticks, and the former moves when clocks are set
/// right: two readings of one start may differ by a little.
const CLOCK_SLACK: u64 = 2_000_000_000;

/// Whether two readings can be of the same start.
pub(crate) fn same_start(a: Option<u64>, b: Option<u64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.abs_diff(b) <= CLOCK_SLACK,
        (a, b) => a == b,
    }
}

/// The one word that says most about a process, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProcessState {
    Ghost,
    LooksDead,
    Stuck,
    Orphan,
    Stopped,
    Unlisted,
    Zombie,
    Unknown,
    Alive,
}

impl ProcessState {
    pub(crate) fn of(holder: &Holder) -> Self {
        match (holder.origin, holder.state) {
            (Origin::Ghost, _) => Self::Ghost,
            (_, Some(State::ZombieLeader)) => Self::LooksDead,
            (_, Some(State::Stuck)) => Self::Stuck,
            (_, Some(State::Zombie)) => Self::Zombie,
            _ if holder.orphan.is_some() => Self::Orphan,
            (_, Some(State::Stopped)) => Self::Stopped,
            (Origin::HasDeviceOpen, _) => Self::Unlisted,
            (_, Some(State::Ordinary)) => Self::Alive,
            (_, None) => Self::Unknown,
        }
    }

    /// In the table.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ghost => "ghost",
            Self::LooksDead => "half dead",
            Self::Stuck => "stuck",
            Self::Orphan => "orphan",
            Self::Stopped => "stopped",
            Self::Unlisted => "unlisted",
            Self::Zombie => "zombie",
            Self::Unknown => "?",
            Self::Alive => "running",
        }
    }

    /// In the details.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Ghost => "the driver lists it, but it is not visible from here",
            Self::LooksDead => "its main thread has exited, others run and hold the memory",
            Self::Stuck => "is in an uninterruptible wait",
            Self::Orphan => "its parent has exited",
            Self::Stopped => "stopped by a signal; it keeps its memory",
            Self::Unlisted => "has the device open, but the driver does not list it",
            Self::Zombie => "has exited but was not reaped by its parent; it holds nothing",
            Self::Unknown => "cannot be read from here",
            Self::Alive => "runs or sleeps normally",
        }
    }

    /// Whether it deserves a second look.
    pub(crate) fn is_suspicious(self) -> bool {
        !matches!(self, Self::Alive | Self::Unknown)
    }
}
