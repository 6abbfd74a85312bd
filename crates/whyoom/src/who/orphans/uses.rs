//! Whether a process uses a GPU at all, real or simulated.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use whyoom_files::kernel;
use whyoom_lab_core::machine::STATE_VARIABLE;

/// What the state of a shared lab is called where it is mapped.
const SHARED_STATE: &str = "/memfd:whyoom-lab-state";

/// Whether it does, by what it has open and mapped.
pub(super) fn uses_gpu(pid: u32) -> bool {
    whyoom_node::uses_driver(pid) || is_in_lab(pid)
}

/// In the lab the devices are a file, which whoever uses them has mapped.
fn is_in_lab(pid: u32) -> bool {
    let maps = || kernel::bytes(format!("/proc/{pid}/maps")).ok();
    let state = std::env::var_os(STATE_VARIABLE);
    state
        .zip(maps())
        .is_some_and(|(state, maps)| maps_file(&String::from_utf8_lossy(&maps), Path::new(&state)))
}

/// Whether a file is among the lines of a process's maps: its number is the fifth field.
fn maps_file(maps: &str, file: &Path) -> bool {
    let Ok(found) = fs::metadata(file) else { return false };
    let number = found.ino().to_string();
    // A lab that several users share has its state in memory alone.
    let shared = |line: &str| line.contains(SHARED_STATE);
    maps.lines().any(|line| line.split_whitespace().nth(4) == Some(&number) || shared(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_is_known_by_its_number() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let number = file.as_file().metadata().expect("it is open").ino();
        let line = |number: u64| format!("7f00-7f01 rw-s 00000000 00:21 {number} /a file\n");
        assert!(maps_file(&(line(1) + &line(number)), file.path()));
        assert!(!maps_file(&line(number + 1), file.path()));
        assert!(!maps_file(&line(number), Path::new("/absent")));
        assert!(!uses_gpu(0));
    }
}
