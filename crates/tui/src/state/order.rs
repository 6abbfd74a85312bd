//! The order of the table.

use std::cmp::{Ordering, Reverse};

use super::entry::Entry;

/// By what the table is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    /// The most first.
    #[default]
    Memory,
    Device,
    Pid,
    User,
    /// The oldest first.
    Age,
    /// The most suspicious first.
    State,
    Command,
}

impl Order {
    const ALL: [Self; 7] =
        [Self::Device, Self::Pid, Self::User, Self::Memory, Self::Age, Self::State, Self::Command];

    /// The column to the right, after the last the first.
    pub(crate) fn next(self) -> Self {
        self.step(1)
    }

    /// The column to the left, before the first the last.
    pub(crate) fn previous(self) -> Self {
        self.step(Self::ALL.len() - 1)
    }

    fn step(self, by: usize) -> Self {
        let here = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Self::ALL[(here + by) % Self::ALL.len()]
    }

    /// In words, for whoever cannot see the column.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Device => "device",
            Self::Pid => "pid",
            Self::User => "user",
            Self::Age => "age",
            Self::State => "state",
            Self::Command => "command",
        }
    }

    /// Which of two comes first. Equal ones stand by device and number, so that rows keep their place
    /// from one report to the next.
    pub(crate) fn compare(self, a: &Entry<'_>, b: &Entry<'_>) -> Ordering {
        let by_column = match self {
            Self::Memory => b.holder.bytes.cmp(&a.holder.bytes),
            Self::Device => Ordering::Equal,
            Self::Pid => a.holder.pid.cmp(&b.holder.pid),
            Self::User => known_first(a.holder.user.as_ref(), b.holder.user.as_ref()),
            Self::Age => known_first(a.holder.started, b.holder.started),
            Self::State => a.standing().cmp(&b.standing()),
            Self::Command => known_first(a.holder.command.as_ref(), b.holder.command.as_ref()),
        };
        let place = |entry: &Entry<'_>| (entry.device.device.index, entry.holder.pid);
        by_column.then_with(|| place(a).cmp(&place(b)))
    }
}

/// What is not known comes last.
fn known_first<T: Ord>(a: Option<T>, b: Option<T>) -> Ordering {
    (Reverse(a.is_some()), a).cmp(&(Reverse(b.is_some()), b))
}
