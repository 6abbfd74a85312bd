//! Whether a process was given to a new parent because its own has ended.
//!
//! The kernel does not keep who started a process. What it keeps betrays a change: a process inherits
//! its session and its group from whoever started it, so a parent of another session is not that one.

use crate::{
    capture::{Process, RankLauncher, Relative},
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

/// Collectors that give nothing they start a session of its own, unlike what starts containers or jobs.
const PLAIN_REAPERS: &[&str] = &["systemd", "init", "tini", "tini-static", "docker-init"];

/// Programs that keep a container alive as its process 1, and start no ranks.
const IDLERS: &[&str] = &["sleep", "tail", "pause", "sshd"];

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
    /// It is a rank in a session of its own, and its parent is no launcher.
    Rank(RankLauncher),
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
                    "it is in session {session}{leader}, and {parent}, to which it was reparented, is not"
                )
            }
            Self::Group(group) => {
                format!(
                    "the leader of its process group {group} is gone, and {parent} is not in that group"
                )
            }
            Self::Older => format!("it is older than {parent}, to which it was reparented"),
            Self::Rank(launcher) => {
                let (rank, variables) = rank_words(launcher);
                format!(
                    "it is a rank of {rank} has exited (it has {variables} in its environment and was \
                     reparented to {parent})"
                )
            }
            Self::Detached => {
                format!("it runs in its own session under {parent} and is not a service of it")
            }
        }
    }
}

/// Whose rank it is, before "has exited", and the variables that show it.
fn rank_words(launcher: RankLauncher) -> (&'static str, &'static str) {
    match launcher {
        RankLauncher::Torchrun => ("a torchrun whose agent", "TORCHELASTIC_RUN_ID"),
        RankLauncher::Mpirun => ("an mpirun that", "OMPI_COMM_WORLD_RANK"),
        RankLauncher::Other => ("a launcher that", "LOCAL_RANK, RANK and WORLD_SIZE"),
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
    if session != process.pid {
        return None;
    }
    let lost = process.environment.launcher.filter(|launcher| lost(process, parent, *launcher));
    lost.map(Proof::Rank).or_else(|| detached(process, parent).then_some(Proof::Detached))
}

/// Whether the collector cannot be the launcher of a rank. Process 1 of a container may be it, that of a
/// machine is not. A container or a job may be started with a launcher's variables, and in a session of
/// its own; those of torchrun only torchrun sets.
fn lost(process: &Process, parent: &Relative, launcher: RankLauncher) -> bool {
    let starts_no_rank = is(parent, PLAIN_REAPERS) || is(parent, IDLERS);
    let is_no_torchrun = is(parent, REAPERS)
        || is(parent, SHELLS)
        || (parent.pid == 1 && process.in_first_namespace());
    starts_no_rank || (launcher == RankLauncher::Torchrun && is_no_torchrun)
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
    fn a_rank_whose_launcher_has_exited() {
        let rank = |launcher, parent| {
            let mut rank = child(50, 50, parent);
            rank.environment.launcher = Some(launcher);
            rank
        };
        let lost = |launcher, one: Relative| proof(&rank(launcher, one)).is_some();
        for launcher in [RankLauncher::Torchrun, RankLauncher::Mpirun, RankLauncher::Other] {
            assert!(lost(launcher, parent(1, "systemd")));
            assert!(lost(launcher, parent(1, "sleep")), "what keeps a container alive");
            assert!(!lost(launcher, parent(1, "python")), "process 1 may be the launcher");
            assert!(!lost(launcher, parent(7, "torchrun")));
            assert!(!lost(launcher, parent(7, "bash")), "no collector");
        }
        for name in ["slurmstepd", "dumb-init", "containerd-shim"] {
            assert!(lost(RankLauncher::Torchrun, parent(7, name)));
            assert!(!lost(RankLauncher::Other, parent(7, name)), "it may have started it");
        }
        let mut on_machine = rank(RankLauncher::Torchrun, parent(1, "python"));
        on_machine.pid_namespace = Some(0xEFFF_FFFC);
        assert!(proof(&on_machine).is_some(), "the machine's own process 1 is no launcher");
        let mut rank = rank(RankLauncher::Torchrun, parent(1, "systemd"));
        let words = proof(&rank).expect("a proof").words(&rank);
        let expected = "it is a rank of a torchrun whose agent has exited (it has \
                        TORCHELASTIC_RUN_ID in its environment and was reparented to PID 1 \
                        (systemd))";
        assert_eq!(words, expected);
        rank.cgroup = Some("0::/system.slice/train.service".to_owned());
        assert_eq!(proof(&rank), None, "a service");
    }

    #[test]
    fn older_than_its_parent() {
        let young = Relative { started_ticks: 1000, ..parent(9, "systemd") };
        assert_eq!(proof(&child(50, 50, young)), Some(Proof::Older));
    }
}
