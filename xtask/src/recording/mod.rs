//! `cargo xtask recording [PART…]`: the recording on disk, at scale and under the worst of ends.

mod kill;
mod made;
mod read;
mod scale;
mod writer;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use whyoom_trace::Bytes;

use crate::{
    parts::{self, Part},
    tools,
};

const PARTS: &[Part<Bench>] = &[("scale", scale::run), ("read", read::run), ("kill", kill::run)];

/// Where recordings are made.
pub(crate) struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn prepare() -> Result<Self> {
        Ok(Self { folder: tools::scratch("recording")? })
    }

    /// An empty folder for one recording.
    fn fresh(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

pub(crate) fn run(wanted: &[String]) -> Result<()> {
    // The parts start this command again, as the process that is killed or measured.
    match wanted {
        [role, folder] if role == "as-writer" => writer::run(Path::new(folder)),
        [role, folder] if role == "as-reader" => read::measure(Path::new(folder)),
        [role, ..] if role.starts_with("as-") => bail!("{role} needs a folder"),
        _ => parts::run_on("this machine", "recording", PARTS, wanted, Bench::prepare),
    }
}

/// What the files of a kind take in a folder.
fn bytes_of(folder: &Path, suffix: &str) -> Result<Bytes> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.ends_with(suffix)) {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(Bytes(bytes))
}
