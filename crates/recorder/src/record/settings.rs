//! The settings that the process was started with, of those that decide about memory.

use std::{env, os::unix::ffi::OsStrExt};

use whyoom_trace::{Action, StackId};

use super::{Place, Process, clock, event};

/// Writes them, once.
pub(super) fn write(process: &'static Process) {
    for (name, value) in env::vars_os().filter(|(name, _)| is_told(name.as_bytes())) {
        let name = process.names.string(&process.part, name.as_bytes());
        let value = process.names.string(&process.part, value.as_bytes());
        let action = Action::Setting { name, value };
        process.write(&event(clock::now(), Place::NOWHERE, StackId(0), 0, action));
    }
}

fn is_told(name: &[u8]) -> bool {
    let is_folder = name.ends_with(b"_HOME") || name.ends_with(b"_PATH");
    let of_pytorch = name.starts_with(b"PYTORCH_")
        && (name.ends_with(b"ALLOC_CONF") || name.ends_with(b"_MEMORY_CACHING"));
    of_pytorch || (name.starts_with(b"CUDA_") && !is_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_decides_about_memory_is_told() {
        for name in ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUDA_VISIBLE_DEVICES"] {
            assert!(is_told(name.as_bytes()), "{name}");
        }
        for name in ["CUDA_HOME", "CUDA_PATH", "PATH", "AWS_SECRET_ACCESS_KEY", "PYTORCH_KEY"] {
            assert!(!is_told(name.as_bytes()), "{name}");
        }
    }
}
