//! The origin of a verdict's inputs: this user or others. Commands and PIDs of others are not offered for pasting.

use std::{collections::BTreeSet, ops::RangeInclusive};

/// Process IDs that may be signalled. `kill 0` reaches the caller's whole process group, 1 is the init process, and
/// the kernel has none above `PID_MAX_LIMIT` (include/linux/threads.h).
const PROCESS_IDS: RangeInclusive<u32> = 2..=4_194_304;

/// Origin of the inputs of a verdict. The default is elsewhere: nothing in the inputs is to be trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputOrigin {
    /// Commands of the inputs, their words joined by NUL. `None` unless this user recorded all inputs, on this machine,
    /// since its last start.
    pub own_commands: Option<BTreeSet<String>>,
    /// Processes that the inputs name and that still run: both process ID and start time are the same.
    pub running: BTreeSet<u32>,
    /// Processes that an input names and that have ended, or whose start time is not known. Another process may have
    /// the same ID now.
    pub ended: BTreeSet<u32>,
}

impl InputOrigin {
    /// Inputs from elsewhere.
    pub const ELSEWHERE: &'static Self =
        &Self { own_commands: None, running: BTreeSet::new(), ended: BTreeSet::new() };

    /// Returns the origin of a recording that this user made here with a command.
    #[must_use]
    pub fn own(command: &[impl AsRef<str>]) -> Self {
        let words: Vec<&str> = command.iter().map(AsRef::as_ref).collect();
        Self { own_commands: Some([words.join("\0")].into()), ..Self::default() }
    }

    /// Returns true if this user recorded all inputs, on this machine, since its last start.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.own_commands.is_some()
    }

    /// Returns true if the inputs are own, and this is a command of them. It is false if the input was exchanged
    /// between the look at its origin and the look at its contents.
    pub(crate) fn is_own_command(&self, command: &str) -> bool {
        self.own_commands.as_ref().is_some_and(|own| own.contains(command))
    }

    /// Combines two origins: own only if both are.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.own_commands = match (self.own_commands, other.own_commands) {
            (Some(mut commands), Some(others)) => {
                commands.extend(others);
                Some(commands)
            }
            _ => None,
        };
        self.running.extend(other.running);
        self.ended.extend(other.ended);
        self
    }

    /// Returns true if the process ID meant the process that the inputs name when they were read. It is false if one
    /// input means a process of that ID that has ended. The process may end, and its ID be used again, before the
    /// user signals it.
    #[must_use]
    pub fn may_end(&self, pid: u32) -> bool {
        self.is_own()
            && PROCESS_IDS.contains(&pid)
            && self.running.contains(&pid)
            && !self.ended.contains(&pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_running_process_of_an_own_recording_may_be_ended() {
        let pids = [0, 1, 2, 77, 4_194_304, 4_194_305, u32::MAX];
        let own = InputOrigin { running: pids.into(), ..InputOrigin::own(&["a"]) };
        let ended: Vec<u32> = pids.into_iter().filter(|pid| own.may_end(*pid)).collect();
        assert_eq!(ended, [2, 77, 4_194_304]);
        assert!(!own.may_end(78), "it does not run");
        assert!(!own.and(InputOrigin::default()).may_end(77), "another input is from elsewhere");
    }

    #[test]
    fn a_process_id_that_another_input_used_for_an_ended_process_is_not_signalled() {
        let alive = InputOrigin { running: [500, 501].into(), ..InputOrigin::own(&["a"]) };
        let dead = InputOrigin { ended: [500].into(), ..InputOrigin::own(&["b"]) };
        for both in [alive.clone().and(dead.clone()), dead.and(alive)] {
            assert!(!both.may_end(500), "one input names an ended process 500");
            assert!(both.may_end(501));
        }
    }
}
