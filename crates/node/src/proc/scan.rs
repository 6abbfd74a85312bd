//! Which processes have the driver open: one pass over the open files of all.

use std::{collections::BTreeMap, fs, path::Path};

use super::{
    root::Root,
    signs::{Sign, in_maps, sign},
};
use crate::capture::Open;

/// Processes whose maps are read at most, where only those are left to look at.
const MOST_MAPS: usize = 2000;

/// What a pass over processes found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// What each process has open, those with nothing left out.
    pub(crate) open: BTreeMap<u32, Open>,
    /// Processes whose open files may not be read.
    pub(crate) denied: Vec<u32>,
}

impl Scan {
    /// Looks at the open files of these processes.
    pub(crate) fn of(root: &Root, pids: impl IntoIterator<Item = u32>) -> Self {
        let mut scan = Self::default();
        for pid in pids {
            scan.look(root, pid);
        }
        scan
    }

    fn look(&mut self, root: &Root, pid: u32) {
        let mut open = Open::default();
        let first = add_files(root, &format!("{pid}/fd"), &mut open);
        // A process whose first thread has ended shows no files there, and not even to its owner; its
        // other threads do.
        if first != Files::Some && !through_threads(root, pid, &mut open) && first == Files::Denied
        {
            // Another permission guards the maps, so they may be readable where the files are not.
            match root.text(format!("{pid}/maps")) {
                Some(maps) => in_maps(&maps).for_each(|sign| open.add(sign)),
                None => self.denied.push(pid),
            }
        }
        if open.any() {
            open.devices.sort_unstable();
            self.open.insert(pid, open);
        }
    }
}

/// What a folder of open files gave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    Some,
    None,
    Denied,
}

/// Adds the signs among a folder's open files.
fn add_files(root: &Root, folder: &str, open: &mut Open) -> Files {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return Files::Denied };
    let mut any = Files::None;
    for entry in entries.filter_map(Result::ok) {
        any = Files::Some;
        if let Some(found) = fs::read_link(entry.path()).ok().as_deref().and_then(path_sign) {
            open.add(found);
        }
    }
    any
}

fn path_sign(path: &Path) -> Option<Sign> {
    sign(path.to_str()?)
}

/// Adds what the first readable other thread has open. Threads share their files, but for the rare
/// program that asks otherwise.
fn through_threads(root: &Root, pid: u32, open: &mut Open) -> bool {
    let Ok(threads) = root.numbers(format!("{pid}/task")) else { return false };
    let mut others = threads.into_iter().filter(|tid| *tid != pid);
    let found =
        others.any(|tid| add_files(root, &format!("{pid}/task/{tid}/fd"), open) == Files::Some);
    open.through_thread = found;
    found
}

/// Processes among these that have the driver's library loaded.
pub(crate) fn library_users(root: &Root, pids: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let loaded = |pid: &u32| {
        let maps = root.text(format!("{pid}/maps"));
        maps.is_some_and(|maps| in_maps(&maps).any(|sign| sign == Sign::Library))
    };
    pids.into_iter().take(MOST_MAPS).filter(loaded).collect()
}
