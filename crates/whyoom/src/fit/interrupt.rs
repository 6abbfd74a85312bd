//! Ctrl-C, or SIGTERM, in `whyoom fit`: whatever it started ends at once, and nothing is left behind.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::exit,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use indicatif::MultiProgress;
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use whyoom_files::kernel;
use whyoom_lab_core::session::{interrupted, outlive_interrupts};

use crate::terminal::say;

/// A person does not notice this.
const GLANCE: Duration = Duration::from_millis(20);
/// Processes that the kernel has not ended by then wait for a device or a file system.
const PATIENCE: Duration = Duration::from_secs(5);
/// A shell adds this to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;

/// The folders of labs that were started. Who holds it starts a lab or a program, or has ended all of them.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Whether everything is being ended.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Ends everything when a signal comes, whatever the other threads do then.
pub(super) fn heed(progress: &MultiProgress) -> Result<()> {
    outlive_interrupts();
    let terminated = Arc::new(AtomicUsize::new(0));
    flag::register_usize(SIGTERM, Arc::clone(&terminated), SIGTERM as usize)?;
    // Processes whose parent ends come to us, so that they can be found: torchrun's workers have sessions of their own.
    let _ = set_child_subreaper(Some(getpid()));
    let progress = progress.clone();
    let wait = move || loop {
        match (interrupted(), terminated.load(Relaxed)) {
            (true, _) => end(SIGINT, &progress),
            (false, 0) => thread::sleep(GLANCE),
            (false, _) => end(SIGTERM, &progress),
        }
    };
    thread::Builder::new().name("whyoom-signals".to_owned()).spawn(wait)?;
    Ok(())
}

/// Nothing is ended while a lab or a program starts, and nothing starts once all was ended.
pub(super) fn starting() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an interrupted program left says nothing: who waited for it waits for the end of all.
pub(super) fn wait_if_interrupted() {
    while interrupted() || ENDING.load(Relaxed) {
        thread::park();
    }
}

fn end(signal: i32, progress: &MultiProgress) -> ! {
    ENDING.store(true, Relaxed);
    let folders = starting();
    let _ = progress.clear();
    let all_ended = end_descendants(getpid());
    for folder in folders.iter() {
        remove(folder);
    }
    let word = if signal == SIGINT { "interrupted" } else { "terminated" };
    say(&match all_ended {
        true => format!("{word}: the program and its simulated GPUs were ended"),
        false => format!("{word}, but some of the program's processes do not end: see whyoom who"),
    });
    exit(BY_SIGNAL + signal)
}

/// Ends every process that a process started, and those that they start meanwhile. Says whether all have ended.
fn end_descendants(root: Pid) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let living = descendants(root);
        if living.is_empty() {
            return true;
        }
        for pid in living {
            let _ = kill_process(pid, Signal::KILL);
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(GLANCE / 4);
    }
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

/// Removes the folder of a lab, which its own thread may be removing too.
fn remove(folder: &Path) {
    for _ in 0..10 {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
        thread::sleep(GLANCE);
    }
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
