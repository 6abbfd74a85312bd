//! How many processes the kernel has killed because host memory ran out, and what the group of the run had of it.

use std::path::{Path, PathBuf};

use whyoom_files::kernel;

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
        Self {
            on_machine: counted(Path::new("/proc/vmstat")),
            in_group: Group::own().and_then(|group| counted(&group.events)),
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

/// What the control group that we are in, and so what we start, had of host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// What it may have; nothing where that is not limited.
    pub(super) limit: Option<u64>,
    /// The most that it had, without what we have ourselves.
    pub(super) peak: Option<u64>,
}

impl Usage {
    /// That of now.
    pub(super) fn of_group() -> Self {
        let Some(group) = Group::own() else { return Self::default() };
        let number = |path: &Path| kernel::text(path).ok()?.trim().parse::<u64>().ok();
        let status = kernel::text("/proc/self/status").unwrap_or_default();
        let own = anonymous(&status).unwrap_or(0);
        Self {
            limit: number(&group.limit).filter(|limit| *limit < UNLIMITED),
            peak: number(&group.peak).map(|peak| peak.saturating_sub(own)),
        }
    }
}

/// What a process has that lies in no file, as its status tells.
fn anonymous(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The first version writes the largest number of pages for "no limit".
const UNLIMITED: u64 = 1 << 60;

/// The files of a control group that tell of its memory.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    events: PathBuf,
    limit: PathBuf,
    peak: PathBuf,
}

impl Group {
    /// That which we are in, of whichever version the machine has.
    fn own() -> Option<Self> {
        let groups = kernel::text("/proc/self/cgroup").unwrap_or_default();
        Self::candidates(&groups).into_iter().find(|group| counted(&group.events).is_some())
    }

    fn candidates(groups: &str) -> Vec<Self> {
        let path =
            |of: &str| groups.lines().find_map(|line| line.split_once(of).map(|(_, path)| path));
        let (second, first) = (path("0::/"), path(":memory:/"));
        let within = |path: &str| Path::new(GROUPS).join("memory").join(path);
        // In a container the folders begin with its own.
        let first = first.into_iter().flat_map(|path| [within(path), within("")]);
        let second = second.map(|path| Path::new(GROUPS).join(path)).map(|folder| Self {
            events: folder.join("memory.events"),
            limit: folder.join("memory.max"),
            peak: folder.join("memory.peak"),
        });
        let first = first.map(|folder| Self {
            events: folder.join("memory.oom_control"),
            limit: folder.join("memory.limit_in_bytes"),
            peak: folder.join("memory.max_usage_in_bytes"),
        });
        second.into_iter().chain(first).collect()
    }
}

fn counted(path: &Path) -> Option<u64> {
    count(&kernel::text(path).unwrap_or_default())
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
    fn the_group_is_found_in_either_version() {
        let events = |groups: &str| -> Vec<PathBuf> {
            Group::candidates(groups).into_iter().map(|group| group.events).collect()
        };
        assert_eq!(
            events("3:cpu:/a\n0::/user.slice/b.scope\n"),
            [Path::new("/sys/fs/cgroup/user.slice/b.scope/memory.events")]
        );
        assert_eq!(
            events("4:memory:/a\n"),
            [
                Path::new("/sys/fs/cgroup/memory/a/memory.oom_control"),
                Path::new("/sys/fs/cgroup/memory/memory.oom_control"),
            ]
        );
        assert!(events("").is_empty());
    }

    #[test]
    fn what_lies_in_no_file_is_counted() {
        let status = "VmRSS:\t  100 kB\nRssAnon:\t   64 kB\nRssFile:\t 36 kB\n";
        assert_eq!(anonymous(status), Some(65536));
        assert_eq!(anonymous(""), None);
    }
}
