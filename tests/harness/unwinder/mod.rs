//! Something to link with in place of libgcc_s, the system's unwinder.
//!
//! zig has no libgcc_s and puts an unwinder of its own into every library. PyTorch's exceptions pass through
//! the pool, and Rust's part in that would then ask one unwinder about the state of the other: the program
//! ended with a segmentation fault (`cargo xtask hardware mapping`).

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::{
    architecture::Architecture,
    checkout::{cache, root},
    once::{once_at, stamp_of},
    preparation::must_succeed,
};

/// The file for a processor, made with the zig of this Python.
pub(crate) fn unwinder(architecture: Architecture, python: &Path) -> Result<PathBuf> {
    let folder = cache().join("zig/unwinder").join(architecture.name());
    fs::create_dir_all(&folder)?;
    let (file, sources) = (folder.join("libgcc_s.so.1"), root().join("tests/harness/unwinder"));
    let (source, versions) = (sources.join("libgcc_s.c"), sources.join("libgcc_s.map"));
    once_at(&folder.join("made"), &stamp_of(&[source.clone(), versions.clone()])?, || {
        let mut zig = Command::new(python);
        zig.args(["-m", "ziglang", "cc", "-target", &format!("{}-linux-gnu", architecture.name())]);
        zig.args(["-shared", "-nostdlib", "-fPIC", "-Wl,-soname,libgcc_s.so.1"]);
        zig.arg(format!("-Wl,--version-script={}", versions.display()));
        must_succeed(zig.arg("-o").arg(&file).arg(&source))
    })?;
    Ok(file)
}
