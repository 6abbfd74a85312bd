//! The program that a process runs, and whose rights it has.

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use whyoom_files::kernel;

use crate::status::field;

/// What a process changes when it starts a program with other rights. Two equal values were read from the same program
/// with the same users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Real, effective and saved user, and that of file accesses, as the kernel writes them.
    users: String,
    /// The same for groups.
    groups: String,
    program: ProgramFile,
}

/// The file of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProgramFile {
    device: (u32, u32),
    inode: u64,
}

impl Identity {
    /// Reads that of a process. Returns `None` if the process has ended, or the kernel does not permit to see its program.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        let status = kernel::bytes(format!("/proc/{pid}/status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        let (users, groups) = (field(&status, "Uid")?, field(&status, "Gid")?);
        let program = ProgramFile::read(pid)?;
        Some(Self { users: users.to_owned(), groups: groups.to_owned(), program })
    }
}

impl ProgramFile {
    /// Reads the file's numbers. A file system of the process's own is not asked: it may never answer.
    fn read(pid: u32) -> Option<Self> {
        let path = format!("/proc/{pid}/exe");
        let found = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::INO).ok()?;
        let device = (found.stx_dev_major, found.stx_dev_minor);
        Some(Self { device, inode: found.stx_ino })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn another_program_is_another_identity() {
        let own = Identity::read(std::process::id()).expect("our own");
        assert_eq!(Identity::read(std::process::id()), Some(own.clone()));
        let mut command = Command::new("sleep");
        let mut child = command.arg("60").stdin(Stdio::null()).spawn().expect("there is sleep");
        let other = Identity::read(child.id());
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        let other = other.expect("it ran");
        assert_eq!((&other.users, &other.groups), (&own.users, &own.groups));
        assert_ne!(other, own);
        assert_eq!(Identity::read(u32::MAX - 1), None);
    }
}
