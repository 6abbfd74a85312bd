//! Whether a recording is this user's own, from this machine: only then is its command one to paste, and are its
//! process IDs of this machine.

use std::path::Path;

use whyoom_causes::Origin;

/// Returns where a recording's folder comes from.
#[cfg(target_os = "linux")]
pub(crate) fn of_recording(folder: &Path) -> Origin {
    linux::of_recording(folder)
}

/// Returns where a recording's folder comes from: nothing is recorded on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_recording(_: &Path) -> Origin {
    Origin::default()
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{boot_id, start_ticks};

#[cfg(target_os = "linux")]
mod linux {
    use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt, path::Path};

    use rustix::process::geteuid;
    use whyoom_causes::Origin;
    use whyoom_files::{folder::Folder, kernel};
    use whyoom_node::proc::stat::Stat;
    use whyoom_sources::recording::{ENDING, Ending, MACHINE_SAMPLES, holder_starts};

    /// Entries of a folder whose owners are looked at. Chosen, not measured: a recording has some files for each process.
    const MOST_ENTRIES: usize = 4096;
    /// Permission of the group and of others to write.
    const WRITABLE_BY_OTHERS: u32 = 0o022;

    /// Returns the kernel's boot ID. `None` if it cannot be read.
    pub(crate) fn boot_id() -> Option<String> {
        let id = kernel::text("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// Returns when a running process started, in clock ticks since boot. `None` if it cannot be seen.
    pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
        let line = kernel::bytes(format!("/proc/{pid}/stat")).ok()?;
        Stat::parse(&String::from_utf8_lossy(&line)).map(|stat| stat.started_ticks)
    }

    pub(super) fn of_recording(folder: &Path) -> Origin {
        if !is_own(folder) || !is_only_own(&folder.join(ENDING)) {
            return Origin::default();
        }
        let recorded = Ending::read(folder).and_then(|ending| ending.boot_id);
        if recorded.is_none() || recorded != boot_id() {
            return Origin::default();
        }
        let holders = match is_only_own(&folder.join(MACHINE_SAMPLES)) {
            true => holder_starts(&Folder::from(folder)),
            false => BTreeMap::new(),
        };
        let still_runs = |(pid, started): (u32, Option<u64>)| {
            (started.is_some() && started == start_ticks(pid)).then_some(pid)
        };
        Origin { is_own: true, running: holders.into_iter().filter_map(still_runs).collect() }
    }

    /// Returns true if a folder belongs to this user, and no other user has put anything into it.
    fn is_own(folder: &Path) -> bool {
        let own = geteuid().as_raw();
        let Ok(found) = fs::metadata(folder) else { return false };
        if found.uid() != own {
            return false;
        }
        if found.mode() & WRITABLE_BY_OTHERS == 0 {
            return true;
        }
        let Ok(entries) = fs::read_dir(folder) else { return false };
        entries.enumerate().all(|(index, entry)| {
            let owner = entry.and_then(|entry| fs::symlink_metadata(entry.path()));
            index < MOST_ENTRIES && owner.is_ok_and(|found| found.uid() == own)
        })
    }

    /// Returns true if a file belongs to this user, and no other user may write to it.
    fn is_only_own(file: &Path) -> bool {
        fs::symlink_metadata(file).is_ok_and(|found| {
            found.is_file()
                && found.uid() == geteuid().as_raw()
                && found.mode() & WRITABLE_BY_OTHERS == 0
        })
    }
}
