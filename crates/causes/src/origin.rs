//! Where the inputs of a verdict come from: a stranger's command and the process IDs of another machine are no advice.

use std::{collections::BTreeSet, ops::RangeInclusive};

/// Process IDs that may be signalled. `kill 0` reaches the caller's whole process group, 1 is the init process, and
/// the kernel has none above `PID_MAX_LIMIT` (include/linux/threads.h).
const PROCESS_IDS: RangeInclusive<u32> = 2..=4_194_304;

/// Where the inputs of a verdict come from. The default is elsewhere: nothing in the inputs is to be trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// True if this user recorded all inputs, on this machine, since its last start.
    pub is_own: bool,
    /// Processes that the inputs name and that still run: both process ID and start time are the same.
    pub running: BTreeSet<u32>,
}

impl Origin {
    /// Inputs from elsewhere.
    pub(crate) const ELSEWHERE: &'static Self = &Self { is_own: false, running: BTreeSet::new() };

    /// Returns the origin of two inputs together: one from elsewhere makes both so.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.running.extend(other.running);
        Self { is_own: self.is_own && other.is_own, running: self.running }
    }

    /// Returns true if `kill` with this process ID ends the process that the inputs name, and no other.
    #[must_use]
    pub fn may_end(&self, pid: u32) -> bool {
        self.is_own && PROCESS_IDS.contains(&pid) && self.running.contains(&pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_running_process_of_an_own_recording_may_be_ended() {
        let pids = [0, 1, 2, 77, 4_194_304, 4_194_305, u32::MAX];
        let own = Origin { is_own: true, running: pids.into() };
        let ended: Vec<u32> = pids.into_iter().filter(|pid| own.may_end(*pid)).collect();
        assert_eq!(ended, [2, 77, 4_194_304]);
        assert!(!own.may_end(78), "it does not run");
        assert!(!own.and(Origin::default()).may_end(77), "another input is from elsewhere");
    }
}
