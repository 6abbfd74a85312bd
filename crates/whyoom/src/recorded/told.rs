//! What one process says of its recording, and whether that is its own word.

use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::{ffi::OsStringExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use whyoom_files::{kernel, untrusted};
use whyoom_recording::LiveFigures;

use crate::run::FOLDER_VARIABLE;

/// A program that replaces itself keeps its number and start; more of its parts are not looked for.
const MOST_PARTS: u32 = 100;

/// What a process says.
#[derive(Debug)]
pub(super) struct LiveStatus {
    /// Where it is recorded.
    pub(super) folder: PathBuf,
    /// What it holds.
    pub(super) figures: LiveFigures,
    /// Whether it is a process of the user who asks, recorded into a folder of that user: a file of any
    /// other is not parsed further than this.
    pub(super) is_own: bool,
}

impl LiveStatus {
    /// Asks a process. Nothing where it is not recorded, or where what it names is not its own.
    pub(super) fn by(pid: u32, folder: PathBuf) -> Option<Self> {
        let (user, started) = (user_of(pid)?, start_of(pid)?);
        let file = part_of(&folder, pid, started)?;
        if !untrusted::belongs_to(&file, user) {
            return None;
        }
        let figures = LiveFigures::read(&file).ok()?;
        if (figures.pid, figures.started) != (pid, started) {
            return None;
        }
        let own = rustix::process::geteuid().as_raw();
        let is_own = user == own && fs::metadata(&folder).is_ok_and(|found| found.uid() == own);
        Some(Self { folder, figures, is_own })
    }
}

/// The folder that a process records into, by its environment.
pub(super) fn folder_of(pid: u32) -> Option<PathBuf> {
    let environment = kernel::bytes(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{FOLDER_VARIABLE}=");
    let mut variables = environment.split(|byte| *byte == 0);
    let folder = variables.find_map(|variable| variable.strip_prefix(prefix.as_bytes()))?;
    Some(OsString::from_vec(folder.to_vec()).into())
}

/// The user whose rights a process has: its files are made as this one's.
fn user_of(pid: u32) -> Option<u32> {
    effective_user(&kernel::text(format!("/proc/{pid}/status")).ok()?)
}

fn effective_user(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// When a process started, in clock ticks after the machine did.
fn start_of(pid: u32) -> Option<u64> {
    let stat = kernel::bytes(format!("/proc/{pid}/stat")).ok()?;
    start_ticks(&String::from_utf8_lossy(&stat))
}

/// The 22nd field. The second, the name, is in parentheses and may hold spaces and parentheses.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// The file of a process in a recording: of several programs that it ran, the last. It is asked for by its
/// name: the folder may hold millions of others.
fn part_of(folder: &Path, pid: u32, started: u64) -> Option<File> {
    let mut found = untrusted::open_entry(&folder.join(format!("{pid}-{started}.part"))).ok()?;
    for program in 1..MOST_PARTS {
        let name = format!("{pid}-{started}-EXEC{program}.part");
        match untrusted::open_entry(&folder.join(name)) {
            Ok(file) => found = file,
            Err(_) => break,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells() {
        let own = std::process::id();
        assert_eq!(user_of(own), Some(rustix::process::geteuid().as_raw()));
        assert!(start_of(own).is_some_and(|started| started > 0));
        assert_eq!(effective_user("Name:\tx\nUid:\t1\t2\t3\t4\n"), Some(2));
        assert_eq!(effective_user("Uid:"), None);
        assert_eq!(start_ticks("7 (a) b) S"), None);
    }

    #[test]
    fn the_last_program_of_a_process_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |name: &str| fs::write(folder.path().join(name), name).expect("a file");
        let found = || {
            let mut text = String::new();
            let mut file = part_of(folder.path(), 7, 8)?;
            std::io::Read::read_to_string(&mut file, &mut text).expect("text");
            Some(text)
        };
        assert_eq!(found(), None);
        put("7-8.part");
        put("7-9.part");
        assert_eq!(found().as_deref(), Some("7-8.part"));
        put("7-8-EXEC1.part");
        put("7-8-EXEC2.part");
        assert_eq!(found().as_deref(), Some("7-8-EXEC2.part"));
    }
}
