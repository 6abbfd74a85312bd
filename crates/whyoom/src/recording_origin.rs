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
pub(crate) use linux::{boot_id, start_ticks};

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, os::unix::fs::MetadataExt, path::Path};

    use rustix::process::geteuid;
    use whyoom_causes::InputOrigin;
    use whyoom_files::kernel;
    use whyoom_node::proc::stat::Stat;
    use whyoom_sources::recording::{Ending, holder_start_ticks};

    use crate::own_recordings::read_registered;

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

    pub(super) fn of_recording(folder: &Path) -> InputOrigin {
        if !is_writable_by_owner_only(folder) {
            return InputOrigin::default();
        }
        let Some(registered) = read_registered(folder) else { return InputOrigin::default() };
        let Some(ending) = Ending::read(&registered) else { return InputOrigin::default() };
        if ending.boot_id.is_none() || ending.boot_id != boot_id() {
            return InputOrigin::default();
        }
        let mut origin = InputOrigin::own(&ending.command);
        for (pid, started) in holder_start_ticks(&registered) {
            let runs = started.is_some() && started == start_ticks(pid);
            let processes = if runs { &mut origin.running } else { &mut origin.ended };
            processes.insert(pid);
        }
        origin
    }

    /// Returns true if a folder belongs to this user, and no other user may add, remove or rename what is in it. Else
    /// another user could change what the verdict is about.
    fn is_writable_by_owner_only(folder: &Path) -> bool {
        fs::metadata(folder).is_ok_and(|found| {
            found.uid() == geteuid().as_raw() && found.mode() & WRITABLE_BY_OTHERS == 0
        })
    }

    #[cfg(test)]
    mod tests {
        use std::{
            os::unix::fs::PermissionsExt,
            path::PathBuf,
            process::{self, Command},
        };

        use whyoom_sources::recording::{MACHINE_SAMPLES, MachineSample, SeenDevice, SeenHolder};

        use super::*;
        use crate::own_recordings::register;

        /// Makes an own recording without holders.
        fn recording(parent: &Path) -> PathBuf {
            let folder = parent.join("recording");
            fs::create_dir(&folder).expect("a folder");
            set_mode(&folder, 0o700);
            let ending = Ending { boot_id: boot_id(), ..Ending::default() };
            ending.write(&folder).expect("run.json");
            register(&folder);
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
                assert_eq!(of_recording(&folder).is_own(), expected, "{mode:o}");
            }
        }

        #[test]
        fn a_moved_recording_is_own_and_a_copied_one_is_not() {
            let parent = tempfile::tempdir().expect("a folder");
            let folder = recording(parent.path());
            let (copy, moved) = (parent.path().join("copy"), parent.path().join("moved"));
            let copied = Command::new("cp").arg("-r").args([&folder, &copy]).status();
            assert!(copied.expect("cp").success());
            assert!(!of_recording(&copy).is_own(), "the copy");
            fs::rename(&folder, &moved).expect("it is moved");
            assert!(of_recording(&moved).is_own(), "the moved one");
            let changed = Ending { command: vec!["sh".to_owned()], ..Ending::default() };
            Ending { boot_id: boot_id(), ..changed }.write(&moved).expect("run.json");
            assert!(!of_recording(&moved).is_own(), "run.json was changed");
        }

        #[test]
        fn a_process_of_another_start_has_ended() {
            let parent = tempfile::tempdir().expect("a folder");
            let folder = recording(parent.path());
            let started = start_ticks(process::id()).expect("this process runs");
            add_holder(&folder, process::id(), Some(started));
            assert!(!of_recording(&folder).is_own(), "machine.jsonl was changed");
            register(&folder);
            let origin = of_recording(&folder);
            assert!(origin.may_end(process::id()) && origin.ended.is_empty(), "{origin:?}");
            fs::remove_file(folder.join(MACHINE_SAMPLES)).expect("it is removed");
            add_holder(&folder, process::id(), Some(started + 1));
            register(&folder);
            let other = of_recording(&folder);
            assert!(other.ended.contains(&process::id()), "{other:?}");
            assert!(!origin.and(other).may_end(process::id()));
        }
    }
}
