//! Ctrl-C, or SIGTERM, in `whyoom fit`: whatever it started ends at once, and nothing is left behind.

use std::{
    fs,
    path::{Path, PathBuf},
    process::exit,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use anyhow::Result;
use indicatif::MultiProgress;
use rustix::process::{getpid, set_child_subreaper};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use whyoom_lab_core::session::{interrupted, outlive_interrupts};

use super::tree::end_descendants;
use crate::terminal::say;

/// A person does not notice this.
const GLANCE: Duration = Duration::from_millis(20);
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

/// Removes the folder of a lab, which its own thread may be removing too.
fn remove(folder: &Path) {
    for _ in 0..10 {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
        thread::sleep(GLANCE);
    }
}
