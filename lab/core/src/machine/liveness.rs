//! Who is alive.

use std::{fs, io, os::unix::fs::MetadataExt};

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
        let started = start_time(pid).ok().flatten();
        Self { pid, started: started.unwrap_or_default() }
    }

    /// Whether the process still runs. One that ended and waits for its parent does not, unless
    /// threads of it still do. Where that cannot be told, as in a process that has no descriptor
    /// left to read with, nobody is declared dead.
    #[must_use]
    pub fn is_alive(self) -> bool {
        start_time(self.pid).map_or(true, |started| started == Some(self.started))
    }
}

/// The namespace that numbers of processes are of here; 0 where that cannot be told.
pub(super) fn own_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// When the process started, or nothing where it has ended.
pub(super) fn start_time(pid: u32) -> io::Result<Option<u64>> {
    let Some(stat) = unless_gone(fs::read_to_string(format!("/proc/{pid}/stat")))? else {
        return if is_hidden(pid) { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(None) };
    };
    // The name stands in brackets and may hold anything, so fields count from its last bracket.
    let fields: Vec<&str> =
        stat.rsplit_once(") ").map_or(Vec::new(), |(_, rest)| rest.split(' ').collect());
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        let threads = unless_gone(fs::read_dir(format!("/proc/{pid}/task")))?;
        if threads.is_none_or(|threads| threads.count() <= 1) {
            return Ok(None);
        }
    }
    Ok(fields.get(19).and_then(|started| started.parse().ok()))
}

/// Whether a process exists although /proc does not show it: another user's may be hidden.
fn is_hidden(pid: u32) -> bool {
    // SAFETY: a plain system call; signal 0 only asks whether one could be sent.
    let answer = unsafe { libc::kill(pid as libc::pid_t, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// What was read of a process, or nothing where the process is gone.
fn unless_gone<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_child_is_not_alive_before_its_parent_has_waited() {
        let mut child = std::process::Command::new("true").spawn().expect("true runs");
        let identity = Identity { pid: child.id(), started: 0 };
        std::thread::sleep(std::time::Duration::from_millis(200));
        let started = start_time(identity.pid).expect("it can be told");
        assert_eq!(started, None, "a zombie holds nothing");
        child.wait().expect("it ended");
    }

    #[test]
    fn only_what_is_known_to_be_gone_is_dead() {
        let error = |number| Err::<(), _>(io::Error::from_raw_os_error(number));
        assert!(matches!(unless_gone(error(libc::ENOENT)), Ok(None)));
        assert!(matches!(unless_gone(error(libc::ESRCH)), Ok(None)));
        assert!(unless_gone(error(libc::EMFILE)).is_err());
    }

    #[test]
    fn a_number_given_again_is_another_process() {
        let own = Identity::own();
        assert!(own.is_alive());
        assert!(!Identity { started: own.started + 1, ..own }.is_alive());
    }
}
