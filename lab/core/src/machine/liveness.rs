//! Who is alive.

use std::fs;

/// A process by its number and the moment it started: numbers are given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The process's number.
    pub pid: u32,
    /// When it started, in the kernel's clock ticks since boot.
    pub started: u64,
}

impl Identity {
    /// This process.
    #[must_use]
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, started: start_time(pid).unwrap_or_default() }
    }

    /// Whether the process still runs. One that ended and waits for its parent does not, unless
    /// threads of it still do.
    #[must_use]
    pub fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.started)
    }
}

/// When the process started, or nothing where it has ended.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything, so fields count from its last bracket.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    if ended && fs::read_dir(format!("/proc/{pid}/task")).ok()?.count() <= 1 {
        return None;
    }
    fields.get(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_child_is_not_alive_before_its_parent_has_waited() {
        let mut child = std::process::Command::new("true").spawn().expect("true runs");
        let identity = Identity { pid: child.id(), started: 0 };
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(start_time(identity.pid), None, "a zombie holds nothing");
        child.wait().expect("it ended");
    }

    #[test]
    fn a_number_given_again_is_another_process() {
        let own = Identity::own();
        assert!(own.is_alive());
        assert!(!Identity { started: own.started + 1, ..own }.is_alive());
    }
}
