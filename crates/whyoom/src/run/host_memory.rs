//! How many processes the kernel has killed for want of host memory.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where the control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// The kernel's counts; nothing where it does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kills {
    /// Of the whole machine, since it started: these can only clear the kernel of a kill.
    pub(super) on_machine: Option<u64>,
    /// Of the control group that we are in, and so what we start.
    pub(super) in_group: Option<u64>,
}

impl Kills {
    /// The counts now.
    pub(super) fn count() -> Self {
        let counted = |path: &Path| count(&fs::read_to_string(path).unwrap_or_default());
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self {
            on_machine: counted(Path::new("/proc/vmstat")),
            in_group: own_group(&groups).and_then(|group| counted(&group.join("memory.events"))),
        }
    }

    /// How many came since then.
    pub(super) fn since(self, before: Self) -> Self {
        let difference = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        Self {
            on_machine: difference(self.on_machine, before.on_machine),
            in_group: difference(self.in_group, before.in_group),
        }
    }
}

/// The folder of a process's control group, of the second version.
fn own_group(groups: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(GROUPS).join(path))
}

fn count(statistics: &str) -> Option<u64> {
    let count = statistics.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_counts() {
        let kills = |on_machine, in_group| Kills { on_machine, in_group };
        let before = kills(Some(1), None);
        assert_eq!(kills(Some(3), Some(1)).since(before), kills(Some(2), None));
        assert_eq!(kills(None, None).since(before), kills(None, None));
        assert_eq!(kills(Some(1), Some(5)).since(kills(Some(1), Some(4))).in_group, Some(1));
    }

    #[test]
    fn both_files_have_the_count_in_a_line() {
        assert_eq!(count("pgfault 9\noom_kill 1\n"), Some(1));
        assert_eq!(count("max 7\noom 3\noom_kill 2\noom_group_kill 0\n"), Some(2));
        assert_eq!(count(""), None);
    }

    #[test]
    fn the_group_of_the_second_version_is_found() {
        let found = own_group("3:cpu:/a\n0::/user.slice/b.scope\n");
        assert_eq!(found, Some("/sys/fs/cgroup/user.slice/b.scope".into()));
        assert_eq!(own_group("0::/\n"), Some("/sys/fs/cgroup/".into()));
        assert_eq!(own_group("4:memory:/a\n"), None);
    }
}
