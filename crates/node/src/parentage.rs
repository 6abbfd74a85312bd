//! Whether a process was given to a new parent because its own has ended.
//!
//! The kernel does not keep who started a process. What it keeps betrays a change: a process inherits
//! its session and its group from whoever started it, so a parent of another session is not that one.

use crate::{
    capture::{Process, Relative},
    proc::cgroup,
};

/// Programs that collect processes whose parent has ended, beside process 1.
const REAPERS: &[&str] = &[
    "systemd",
    "init",
    "tini",
    "tini-static",
    "docker-init",
    "dumb-init",
    "catatonit",
    "conmon",
    "containerd-shim",
    "s6-svscan",
    "runsvdir",
    "supervisord",
    "slurmstepd",
    "raylet",
];

/// Programs that give each pipeline a group of its own: there a foreign group proves nothing.
const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "fish", "ksh", "ash", "busybox"];

/// Services that start programs for people and do not look after them.
const STARTERS: &[&str] =
    &["cron.service", "crond.service", "atd.service", "ssh.service", "sshd.service"];

/// Why the parent cannot be the one that started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It is in a session that its parent is not in, and did not make it itself.
    Session(u32),
    /// It is in a group that its parent is not in, and whose leader has ended.
    Group(u32),
    /// It is older than its parent.
    Older,
    /// It made a session for itself, outside of any service that the service manager started.
    Detached,
}

impl Proof {
    /// In words, after "its parent has ended:".
    pub(crate) fn words(self, process: &Process) -> String {
        let parent = process.kin.seen_parent.as_ref();
        let parent = parent.map_or_else(String::new, |p| format!("PID {} ({})", p.pid, p.name));
        let leader = match process.kin.session_leader_lives {
            Some(false) => ", whose first process is gone",
            _ => "",
        };
        match self {
            Self::Session(session) => {
                format!(
                    "it belongs to session {session}{leader}; {parent}, which it was given to, does not"
                )
            }
            Self::Group(group) => {
                format!(
                    "it belongs to process group {group}, whose leader is gone; {parent} does not"
                )
            }
            Self::Older => format!("it is older than {parent}, which it was given to"),
            Self::Detached => {
                format!("it runs in a session of its own under {parent} and is no service of it")
            }
        }
    }
}

/// The proof that the parent has ended; `None` where there is none.
pub(crate) fn proof(process: &Process) -> Option<Proof> {
    let kin = &process.kin;
    if looked_after(process) {
        return None;
    }
    let parent = kin.seen_parent.as_ref().filter(|parent| collects(parent))?;
    let (session, group) = (kin.session?, kin.group?);
    if process.started_ticks.is_some_and(|started| started < parent.started_ticks) {
        return Some(Proof::Older);
    }
    // A session or group outside the namespace is 0: it may be anybody's.
    if session != 0 && session != process.pid && session != parent.session {
        return Some(Proof::Session(session));
    }
    let foreign_group = group != 0 && group != process.pid && group != parent.group;
    if foreign_group && kin.group_leader_lives == Some(false) && !is(parent, SHELLS) {
        return Some(Proof::Group(group));
    }
    (session == process.pid && detached(process, parent)).then_some(Proof::Detached)
}

/// What a service leaves behind is ended with it, and a daemon detaches itself on purpose.
fn looked_after(process: &Process) -> bool {
    let unit = process.cgroup.as_deref().and_then(cgroup::unit).unwrap_or_default();
    unit.ends_with(".service") && !unit.starts_with("user@") && !STARTERS.contains(&unit)
}

/// Under the real service manager, what it starts is in a service's control group; what a login left
/// behind is in the login's.
fn detached(process: &Process, parent: &Relative) -> bool {
    let unit = process.cgroup.as_deref().and_then(cgroup::unit);
    is(parent, &["systemd"]) && unit.is_some_and(|unit| unit.starts_with("session-"))
}

fn collects(parent: &Relative) -> bool {
    parent.pid == 1 || is(parent, REAPERS)
}

/// Whether it is one of these programs. The kernel cuts a name to 15 characters.
fn is(parent: &Relative, programs: &[&str]) -> bool {
    programs.iter().any(|program| program.get(..15).unwrap_or(program) == parent.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Kin;

    fn child(session: u32, group: u32, parent: Relative) -> Process {
        let kin = Kin {
            parent: Some(parent.pid),
            session: Some(session),
            group: Some(group),
            group_leader_lives: Some(false),
            session_leader_lives: Some(false),
            seen_parent: Some(parent),
        };
        Process { pid: 50, started_ticks: Some(900), kin, ..Process::default() }
    }

    fn parent(pid: u32, name: &str) -> Relative {
        Relative { pid, name: name.to_owned(), session: 1, group: 1, ..Relative::default() }
    }

    #[test]
    fn a_session_that_is_not_the_parents() {
        assert_eq!(proof(&child(40, 45, parent(1, "systemd"))), Some(Proof::Session(40)));
        assert_eq!(proof(&child(40, 45, parent(7, "tini"))), Some(Proof::Session(40)));
        assert_eq!(proof(&child(40, 45, parent(7, "python"))), None, "an ordinary parent");
    }

    #[test]
    fn a_group_that_is_nobodys() {
        assert_eq!(proof(&child(1, 45, parent(1, "tini"))), Some(Proof::Group(45)));
        assert_eq!(proof(&child(1, 45, parent(1, "bash"))), None, "the rest of a pipeline");
        assert_eq!(proof(&child(1, 1, parent(1, "tini"))), None, "started by it");
        assert_eq!(proof(&child(0, 0, parent(1, "x"))), None, "outside the namespace");
    }

    #[test]
    fn services_are_nobodys_orphans() {
        let mut service = child(50, 50, parent(1, "systemd"));
        service.cgroup = Some("0::/system.slice/vllm.service".to_owned());
        assert_eq!(proof(&service), None);
        service.cgroup = Some("0::/user.slice/user-1000.slice/session-3.scope".to_owned());
        assert_eq!(proof(&service), Some(Proof::Detached));
    }

    #[test]
    fn older_than_its_parent() {
        let young = Relative { started_ticks: 1000, ..parent(9, "systemd") };
        assert_eq!(proof(&child(50, 50, young)), Some(Proof::Older));
    }
}
