//! Processes that others have started, and that a check ends.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// What is killed is gone by then.
const PATIENCE: Duration = Duration::from_secs(10);

/// All processes of the machine.
fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Kills one.
pub(super) fn kill(pid: u32) {
    // It may have ended by itself.
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
}

/// A process with all that it has started and that has not lost its parent.
pub(super) fn tree(root: u32) -> Vec<u32> {
    let parents: BTreeMap<u32, u32> = all().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let is_below = |pid: u32| {
        let mut at = Some(pid);
        while at.is_some_and(|pid| pid != root) {
            at = at.and_then(|pid| parents.get(&pid).copied());
        }
        at.is_some()
    };
    parents.keys().copied().filter(|pid| is_below(*pid)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The mounts that a process sees; nothing once it has ended.
pub(super) fn mounts(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/mnt")).ok()
}

/// Kills all that see the same mounts as a process that has mounts of its own.
pub(super) fn kill_with_mounts_of(pid: u32) {
    let own = mounts(std::process::id());
    let Some(theirs) = mounts(pid).filter(|theirs| own.is_some() && own.as_ref() != Some(theirs))
    else {
        return;
    };
    let until = Instant::now() + PATIENCE;
    // Again: while some are killed, others start.
    while Instant::now() < until {
        let found: Vec<u32> = all().filter(|pid| mounts(*pid).as_ref() == Some(&theirs)).collect();
        if found.is_empty() {
            return;
        }
        found.into_iter().for_each(kill);
        thread::sleep(Duration::from_millis(20));
    }
}

/// What a process calls itself: its command line.
pub(super) fn name(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}
