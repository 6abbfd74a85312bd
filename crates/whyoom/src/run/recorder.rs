//! The recorder's library, and the environment that makes a program load it.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::history;
use crate::arguments::{RunArguments, Stacks};

/// The recorder, as it is built and installed.
const LIBRARY: &str = "libwhyoom_recorder.so";
/// Names the folder of the recording to the recorder, and to `who` and `top`.
pub(crate) const FOLDER_VARIABLE: &str = "WHYOOM_RECORDING";
const STACKS_VARIABLE: &str = "WHYOOM_RECORDING_STACKS";
const LIMIT_VARIABLE: &str = "WHYOOM_RECORDING_LIMIT";
const PRELOAD: &str = "LD_PRELOAD";

/// A recording to be made.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    /// Where it goes.
    pub(super) folder: PathBuf,
    library: PathBuf,
    stacks: Stacks,
    limit: Option<u64>,
    torch_history: bool,
}

impl Recorder {
    /// The recording that was asked for, into a folder that there is.
    pub(super) fn new(arguments: &RunArguments, folder: PathBuf, library: PathBuf) -> Self {
        let RunArguments { stacks, limit, torch_history, .. } = *arguments;
        Self { folder, library, stacks, limit, torch_history }
    }

    /// The same recording, of a second run.
    pub(super) fn with_folder(&self, folder: PathBuf) -> Self {
        Self { folder, ..self.clone() }
    }

    /// Makes a command load the recorder.
    pub(super) fn equip(&self, command: &mut Command) -> Result<()> {
        let stacks = match self.stacks {
            Stacks::Off => "off",
            Stacks::Native => "native",
            Stacks::All => "all",
        };
        command
            .env(PRELOAD, first_of(&self.library, std::env::var_os(PRELOAD)))
            .env(FOLDER_VARIABLE, &self.folder)
            .env(STACKS_VARIABLE, stacks)
            .env_remove(LIMIT_VARIABLE);
        if let Some(limit) = self.limit {
            command.env(LIMIT_VARIABLE, limit.to_string());
        }
        if self.torch_history {
            history::equip(command, &self.folder)?;
        }
        Ok(())
    }
}

/// The library: beside this program, or where an installation puts it.
pub(super) fn library() -> Result<PathBuf> {
    let program = std::env::current_exe().context("cannot find this program's own place")?;
    let beside = program.parent().unwrap_or(Path::new("/"));
    let installed = beside.parent().unwrap_or(beside).join("lib/whyoom");
    let library = [beside.to_owned(), installed]
        .into_iter()
        .map(|folder| folder.join(LIBRARY))
        .find(|library| library.is_file())
        .with_context(|| {
            format!(
                "{LIBRARY} is not beside this program; build it with: cargo build -p whyoom-recorder"
            )
        })?;
    let separates = |byte: &u8| *byte == b':' || byte.is_ascii_whitespace();
    ensure!(
        !library.as_os_str().as_encoded_bytes().iter().any(separates),
        "{} cannot be preloaded: its path has a colon or a blank in it",
        library.display()
    );
    Ok(library)
}

/// A list of libraries with ours before the others, once.
fn first_of(library: &Path, others: Option<OsString>) -> OsString {
    let others = others.unwrap_or_default();
    let separates = |byte: &u8| *byte == b':' || byte.is_ascii_whitespace();
    let ours = library.as_os_str().as_encoded_bytes();
    let kept = others.as_encoded_bytes().split(|byte| separates(byte));
    let kept = kept.filter(|other| !other.is_empty() && *other != ours);
    let all: Vec<&[u8]> = std::iter::once(ours).chain(kept).collect();
    OsString::from_vec(all.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_comes_first_and_once() {
        let list = |others: &str| first_of(Path::new("/w/ours.so"), Some(others.into()));
        assert_eq!(list(""), "/w/ours.so");
        assert_eq!(list("/a.so:/b.so"), "/w/ours.so:/a.so:/b.so");
        assert_eq!(list("/a.so /w/ours.so"), "/w/ours.so:/a.so");
    }
}
