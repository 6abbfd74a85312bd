//! `cargo xtask who [PART…]`: `whyoom who` and `whyoom top` in situations that are known, beside other
//! monitors, against the clock, and where much is hidden from them.
//!
//! A part is a file here and a line in the table. Each prints what it saw and returns its figure.
//! `--bless` writes what the monitors were seen to show to docs/who-peers.md.

mod answer;
mod limits;
mod named;
mod peers;
mod peers_table;
mod scene;
mod situations;
mod speed;
mod top;

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use whyoom_lab_core::session::built_libraries;

pub(crate) use self::{scene::Scene, situations::of_picture};
use crate::{
    lab::Bench,
    parts::{self, Part},
    tools::{must_succeed, root, scratch},
};

/// The command, and what it preloads.
const PROGRAM: [&str; 3] = ["whyoom", "libwhyoom_recorder.so", "libwhyoom_pool.so"];

/// What all parts need.
pub(crate) struct Stage {
    /// The lab and the command, built.
    pub(crate) bench: Bench,
    /// The program that holds memory in the shape that a situation asks for.
    pub(crate) holder: PathBuf,
    /// Whether to write what was seen.
    bless: bool,
}

const PARTS: &[Part<Stage>] = &[
    ("situations", named::run),
    ("peers", peers::run),
    ("speed", speed::run),
    ("top", top::run),
    ("limits", limits::run),
];

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    let (flags, wanted): (Vec<_>, Vec<_>) =
        wanted.iter().cloned().partition(|word| word == "--bless");
    parts::run("who", PARTS, &wanted, || Stage::prepare(!flags.is_empty()))
}

impl Stage {
    fn prepare(bless: bool) -> Result<Self> {
        Self::with(&Bench::prepare()?, bless)
    }

    /// With a lab that has been built. Other users run it too, who may not enter the build folder.
    pub(crate) fn with(bench: &Bench, bless: bool) -> Result<Self> {
        collect_orphans()?;
        let bench = Bench { binaries: readable_copy(&bench.binaries)? };
        let holder = scratch("who")?.join("holder");
        let source = root().join("tests/scenarios/who/holder.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]);
        must_succeed(compiler.arg(&holder).arg(source).arg("-ldl"))?;
        Ok(Self { bench, holder, bless })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.bench.binaries);
    }
}

/// Orphans are given to this process, under a name that is known for that: who else would get them
/// differs from machine to machine.
fn collect_orphans() -> Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(rustix::thread::set_name(c"tini")?)
}

/// A copy of the command and its libraries that every user can read.
fn readable_copy(binaries: &Path) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("whyoom-xtask-who-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
    for name in built_libraries().chain(PROGRAM) {
        fs::copy(binaries.join(name), folder.join(name)).with_context(|| name.to_owned())?;
    }
    Ok(folder)
}

/// Whether this process may become another user and make namespaces.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Says that something was not tried, and why, so that nobody takes it for passed.
pub(crate) fn skipped(what: &str) {
    println!("SKIPPED: {what}: this needs root, to become another user and to make namespaces");
}
