//! A process that may be looked at.

use std::io;

use rustix::process::geteuid;
use whyoom_files::kernel;

use crate::{
    error::AttachError,
    identity::Identity,
    memory::ProcessMemory,
    permission,
    root::ProcessRoot,
    status::{effective, field},
};

/// Longest list of mappings that is read, in bytes. A process may have 65,530 mappings, of some 100 bytes each; chosen, not
/// measured. The process decides how long the paths are.
const MAX_MAPS_BYTES: u64 = 32 << 20;

/// A process of the same user, or of any where we are root, which the kernel permits us to trace.
#[derive(Debug)]
pub struct Target {
    pid: u32,
    /// Whose it is: who owns the files that it writes.
    owner: (u32, u32),
    /// With the number it makes the process: numbers are used again.
    started: u64,
    identity: Identity,
    memory: ProcessMemory,
}

impl Target {
    /// Looks at a process. Nothing is done to it.
    ///
    /// # Errors
    /// Says what is in the way, and what to do.
    pub fn open(pid: u32) -> Result<Self, AttachError> {
        let status = kernel::text(format!("/proc/{pid}/status"));
        let status = status.map_err(|_| AttachError::NoProcess(pid))?;
        let started = started(pid).ok_or(AttachError::NoProcess(pid))?;
        if field(&status, "State").is_some_and(|state| state.starts_with(['Z', 'X'])) {
            return Err(AttachError::Ended(pid));
        }
        let effective = |name| effective(&status, name).ok_or(AttachError::NoProcess(pid));
        let owner = (effective("Uid")?, effective("Gid")?);
        if owner.0 != geteuid().as_raw() && !geteuid().is_root() {
            return Err(AttachError::OtherUser { pid, uid: owner.0 });
        }
        let tracer = field(&status, "TracerPid").and_then(|tracer| tracer.parse().ok());
        if let Some(tracer) = tracer.filter(|tracer| *tracer != 0) {
            return Err(AttachError::AlreadyTraced { pid, tracer });
        }
        // Before the memory is opened: memory of another program is noticed by `has_same_program`.
        let identity = Identity::read(pid);
        let memory = ProcessMemory::open(pid).map_err(|error| refusal(pid, &status, error))?;
        let identity = identity.ok_or(AttachError::NoProcess(pid))?;
        Ok(Self { pid, owner, started, identity, memory })
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its user and group.
    #[must_use]
    pub fn owner(&self) -> (u32, u32) {
        self.owner
    }

    /// Its memory.
    #[must_use]
    pub fn memory(&self) -> &ProcessMemory {
        &self.memory
    }

    /// Whether it still runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let status = kernel::text(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let ended = field(&status, "State").is_none_or(|state| state.starts_with(['Z', 'X']));
        !ended && started(self.pid) == Some(self.started)
    }

    /// What it has mapped, as the kernel writes it.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn maps(&self) -> Result<String, AttachError> {
        let bytes = kernel::bytes_up_to(format!("/proc/{}/maps", self.pid), MAX_MAPS_BYTES);
        match bytes {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Err(AttachError::io(format!("read the mappings of process {}", self.pid), error))
            }
            Err(_) => Err(AttachError::EndedMeanwhile(self.pid)),
        }
    }

    /// Returns true if the process still runs the program that it ran when it was opened, with the same users and groups.
    pub(crate) fn has_same_program(&self) -> bool {
        Identity::read(self.pid).as_ref() == Some(&self.identity)
    }

    /// Opens its root folder. Returns an error if the process has ended: its number may be another's by now.
    ///
    /// # Errors
    /// Returns an error if the process has ended, or the kernel does not permit it.
    pub fn root(&self) -> Result<ProcessRoot, AttachError> {
        let root = ProcessRoot::open(self.pid);
        if !self.is_alive() {
            return Err(AttachError::EndedMeanwhile(self.pid));
        }
        let what = || format!("open the root folder of process {}", self.pid);
        root.map_err(|error| AttachError::io(what(), error))
    }

    /// Returns the time at which it started, in clock ticks since the machine did.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Whether it sees other files than we do.
    #[must_use]
    pub fn is_contained(&self) -> bool {
        let space = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        space(&self.pid.to_string()) != space("self")
    }
}

fn refusal(pid: u32, status: &str, error: io::Error) -> AttachError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            AttachError::NotPermitted { pid, why: permission::missing(pid, status) }
        }
        io::ErrorKind::NotFound => AttachError::NoProcess(pid),
        _ => AttachError::io(format!("read the memory of process {pid}"), error),
    }
}

/// Returns the time at which a process started, in clock ticks: the 22nd field of its `stat`. The second, its name, may
/// hold spaces and parentheses. Returns `None` if there is no such process.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    let stat = kernel::bytes(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    stat.rsplit_once(") ")?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_process_is_refused() {
        let none = Target::open(u32::MAX - 1).expect_err("no such process");
        assert!(matches!(none, AttachError::NoProcess(_)), "{none}");
        let own = Target::open(std::process::id()).expect("our own process");
        assert!(own.is_alive() && !own.is_contained());
        assert!(own.maps().expect("it lives").contains("[stack]"));
    }
}
