//! The processes that a program started, and their end.

use std::{
    collections::HashMap,
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, getpid, kill_process};
use whyoom_files::kernel;

/// A person does not notice this.
const GLANCE: Duration = Duration::from_millis(5);
/// Processes that the kernel has not ended by then wait for a device or a file system.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Ends every process that a process started, and those that they start meanwhile. Says whether all have ended.
pub(super) fn end_descendants(root: Pid) -> bool {
    end_all(|| descendants(root))
}

/// Ends a program and every process of it. Those whose parent has ended are ours now, beside other programs'; the
/// environment tells whose they are.
pub(super) fn end_program(program: Pid, folder: &Path) -> bool {
    end_all(|| {
        let below = descendants(program);
        let is_of_program =
            |pid: &Pid| *pid == program || below.contains(pid) || was_given(*pid, folder);
        descendants(getpid()).into_iter().filter(is_of_program).collect()
    })
}

/// Ends what a program has left behind. The program's own number may be somebody else's by now.
pub(super) fn end_rest(folder: &Path) -> bool {
    end_all(|| descendants(getpid()).into_iter().filter(|pid| was_given(*pid, folder)).collect())
}

fn end_all(living: impl Fn() -> Vec<Pid>) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let living = living();
        if living.is_empty() {
            return true;
        }
        for pid in living {
            let _ = kill_process(pid, Signal::KILL);
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(GLANCE);
    }
}

/// Whether a process was started with the folder in its environment.
fn was_given(pid: Pid, folder: &Path) -> bool {
    let environment = kernel::bytes(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    let wanted = [b"WHYOOM_FIT=", folder.as_os_str().as_bytes()].concat();
    environment.is_ok_and(|environment| {
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
    })
}

/// The living processes below a process.
fn descendants(root: Pid) -> Vec<Pid> {
    let parents = parents();
    let is_below = |pid: Pid| {
        let mut above = parents.get(&pid).map(|(parent, _)| *parent);
        // As many steps as there are processes: the table is not read at one moment, and may have a cycle.
        for _ in 0..parents.len() {
            match above {
                Some(pid) if pid == root => return true,
                Some(pid) => above = parents.get(&pid).map(|(parent, _)| *parent),
                None => return false,
            }
        }
        false
    };
    let living = parents.iter().filter(|(_, (_, ended))| !ended).map(|(pid, _)| *pid);
    living.filter(|pid| is_below(*pid)).collect()
}

/// Every process's parent, and whether the process has ended and only waits to be collected.
fn parents() -> HashMap<Pid, (Pid, bool)> {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = number.and_then(Pid::from_raw) else { continue };
        let stat = kernel::text(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        // A process chooses its name, which ends with the last bracket.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ended = matches!(fields.next(), Some("Z" | "X"));
        let parent = fields.next().and_then(|parent| parent.parse().ok()).and_then(Pid::from_raw);
        if let Some(parent) = parent {
            parents.insert(pid, (parent, ended));
        }
    }
    parents
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_whole_tree_ends() {
        // The shell's child has a session of its own, and a child.
        let script = "setsid sh -c 'sleep 1000 & wait' & wait";
        let mut child =
            Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().expect("a shell");
        let root = Pid::from_child(&child);
        let started = Instant::now();
        while descendants(root).len() < 2 {
            assert!(started.elapsed() < PATIENCE, "{:?}", descendants(root));
            thread::sleep(GLANCE);
        }
        let below = descendants(root);
        assert!(end_descendants(root));
        let _ = child.wait();
        let gone = |pid: &Pid| parents().get(pid).is_none_or(|(_, ended)| *ended);
        assert!(below.iter().all(gone), "{below:?}");
    }
}
