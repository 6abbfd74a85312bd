//! Decides whether this user made a recording on this machine since boot. Only then may its command be pasted and its
//! PIDs be signalled.

use std::path::Path;

use whyoom_causes::InputOrigin;

/// Returns the origin of a recording's folder.
#[cfg(target_os = "linux")]
pub(crate) fn of_recording(folder: &Path) -> InputOrigin {
    linux::of_recording(folder)
}

/// Returns that a recording is from elsewhere: nothing is recorded on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_recording(_: &Path) -> InputOrigin {
    InputOrigin::default()
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{boot_id, folder_id, start_ticks};

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, os::unix::fs::MetadataExt, path::Path};

    use rustix::process::geteuid;
    use whyoom_causes::InputOrigin;
    use whyoom_files::{folder::Folder, kernel};
    use whyoom_node::proc::stat::Stat;
    use whyoom_sources::recording::{
        ENDING, Ending, FolderId, MACHINE_SAMPLES, holder_start_ticks,
    };

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

    /// Returns the numbers that identify a folder. `None` if it cannot be seen.
    pub(crate) fn folder_id(folder: &Path) -> Option<FolderId> {
        let found = fs::metadata(folder).ok()?;
        Some(FolderId { device: found.dev(), inode: found.ino() })
    }

    pub(super) fn of_recording(folder: &Path) -> InputOrigin {
        if !is_writable_by_owner_only(folder) || !is_only_own(&folder.join(ENDING)) {
            return InputOrigin::default();
        }
        let Some(ending) = Ending::read(folder) else { return InputOrigin::default() };
        if ending.boot_id.is_none() || ending.boot_id != boot_id() {
            return InputOrigin::default();
        }
        // A copy of another user's recording belongs to this user, too.
        if ending.folder.is_none() || ending.folder != folder_id(folder) {
            return InputOrigin::default();
        }
        let are_samples_own = is_only_own(&folder.join(MACHINE_SAMPLES));
        let mut origin = InputOrigin { is_own: true, ..InputOrigin::default() };
        for (pid, started) in holder_start_ticks(&Folder::from(folder)) {
            let runs = are_samples_own && started.is_some() && started == start_ticks(pid);
            let processes = if runs { &mut origin.running } else { &mut origin.ended };
            processes.insert(pid);
        }
        origin
    }

    /// Returns true if a folder belongs to this user, and no other user may add, remove or rename what is in it. Else
    /// another user could replace a file after it was checked. What is in its folders is not looked at: no command
    /// and no process ID is read from there.
    fn is_writable_by_owner_only(folder: &Path) -> bool {
        fs::metadata(folder).is_ok_and(|found| {
            found.uid() == geteuid().as_raw() && found.mode() & WRITABLE_BY_OTHERS == 0
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

    #[cfg(test)]
    mod tests {
        use std::{
            os::unix::fs::PermissionsExt,
            path::PathBuf,
            process::{self, Command},
        };

        use whyoom_sources::recording::{MachineSample, SeenDevice, SeenHolder};

        use super::*;

        /// Makes an own recording without holders.
        fn recording(parent: &Path) -> PathBuf {
            let folder = parent.join("recording");
            fs::create_dir(&folder).expect("a folder");
            set_mode(&folder, 0o700);
            let ending =
                Ending { boot_id: boot_id(), folder: folder_id(&folder), ..Ending::default() };
            ending.write(&folder).expect("run.json");
            folder
        }

        fn set_mode(folder: &Path, mode: u32) {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("a mode");
        }

        fn add_holder(folder: &Path, pid: u32, started_ticks: Option<u64>) {
            let holder = SeenHolder { pid, started_ticks, ..SeenHolder::default() };
            let device = SeenDevice { holders: vec![holder], ..SeenDevice::default() };
            let sample = MachineSample { devices: vec![device], ..MachineSample::default() };
            sample.append(folder).expect("machine.jsonl");
        }

        #[test]
        fn a_folder_that_others_can_write_to_is_not_own() {
            let parent = tempfile::tempdir().expect("a folder");
            let folder = recording(parent.path());
            for (mode, expected) in
                [(0o700, true), (0o755, true), (0o770, false), (0o702, false), (0o1777, false)]
            {
                set_mode(&folder, mode);
                assert_eq!(of_recording(&folder).is_own, expected, "{mode:o}");
            }
        }

        #[test]
        fn a_moved_recording_is_own_and_a_copied_one_is_not() {
            let parent = tempfile::tempdir().expect("a folder");
            let folder = recording(parent.path());
            let (copy, moved) = (parent.path().join("copy"), parent.path().join("moved"));
            let copied = Command::new("cp").arg("-r").args([&folder, &copy]).status();
            assert!(copied.expect("cp").success());
            assert!(!of_recording(&copy).is_own, "the copy");
            fs::rename(&folder, &moved).expect("it is moved");
            assert!(of_recording(&moved).is_own, "the moved one");
            let older = Ending { folder: None, ..Ending::read(&moved).expect("run.json") };
            older.write(&moved).expect("run.json");
            assert!(!of_recording(&moved).is_own, "run.json names no folder");
        }

        #[test]
        fn a_process_of_another_start_has_ended() {
            let parent = tempfile::tempdir().expect("a folder");
            let folder = recording(parent.path());
            let started = start_ticks(process::id()).expect("this process runs");
            add_holder(&folder, process::id(), Some(started));
            let origin = of_recording(&folder);
            assert!(origin.may_end(process::id()) && origin.ended.is_empty(), "{origin:?}");
            fs::remove_file(folder.join(MACHINE_SAMPLES)).expect("it is removed");
            add_holder(&folder, process::id(), Some(started + 1));
            let other = of_recording(&folder);
            assert!(other.ended.contains(&process::id()), "{other:?}");
            assert!(!origin.and(other).may_end(process::id()));
        }
    }
}
