//! Whether one process uses the driver, asked right before something is done to it.

use std::path::Path;

use crate::proc::{Root, Scan, library_users};

/// Whether a process has a file of the driver open, or its library loaded. The driver's own list is no proof:
/// in a container it may have numbers of another namespace, which mean other processes here. What cannot be
/// read is not proved.
#[must_use]
pub fn uses_driver(pid: u32) -> bool {
    proved_at(Path::new("/proc"), pid)
}

fn proved_at(proc: &Path, pid: u32) -> bool {
    let root = Root::new(proc);
    Scan::of(&root, [pid]).open.contains_key(&pid) || !library_users(&root, [pid]).is_empty()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn by_an_open_file_or_a_loaded_library() {
        let proc = tempfile::tempdir().unwrap();
        let with = |pid: u32, open: &str, maps: &str| {
            let folder = proc.path().join(pid.to_string());
            fs::create_dir_all(folder.join("fd")).unwrap();
            symlink(open, folder.join("fd/3")).unwrap();
            fs::write(folder.join("maps"), maps).unwrap();
            proved_at(proc.path(), pid)
        };
        assert!(with(1, "/dev/nvidia0", ""));
        assert!(with(2, "/dev/nvidia-uvm", ""));
        assert!(with(3, "/dev/null", "7f00-7f01 r-xp 0 00:05 900 /usr/lib/libcuda.so.1\n"));
        assert!(!with(4, "/dev/null", "7f00-7f01 r-xp 0 00:05 900 /usr/lib/libc.so.6\n"));
        assert!(!proved_at(proc.path(), 5));
    }
}
