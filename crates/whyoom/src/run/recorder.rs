//! The recorder's library, and the environment that makes a program load it.

use std::{path::PathBuf, process::Command};

use anyhow::Result;

use super::{
    flight,
    folder::RunFolder,
    history, keepers, modules,
    preload::{self, Library},
};
use crate::{
    arguments::{RunArguments, Stacks},
    sitecustomize::InjectionFolder,
};

/// The recorder, as it is built and installed.
pub(super) const LIBRARY: Library =
    Library { file: "libwhyoom_recorder.so", package: "whyoom-recorder" };
/// Names the folder of the recording to the recorder, and to `who` and `top`.
pub(crate) const FOLDER_VARIABLE: &str = "WHYOOM_RECORDING";
const STACKS_VARIABLE: &str = "WHYOOM_RECORDING_STACKS";
const LIMIT_VARIABLE: &str = "WHYOOM_RECORDING_LIMIT";

/// A recording to be made.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    /// Where it goes.
    pub(super) folder: RunFolder,
    library: PathBuf,
    stacks: Stacks,
    limit: Option<u64>,
    /// Whether the run is followed while it is recorded.
    pub(super) flight: bool,
    torch_history: bool,
    keepers: bool,
    modules: bool,
}

impl Recorder {
    /// The recording that was asked for, into a folder that there is.
    pub(super) fn new(arguments: &RunArguments, folder: RunFolder, library: PathBuf) -> Self {
        let RunArguments { stacks, limit, torch_history, keepers, modules, .. } = *arguments;
        let flight = flight::is_asked_for(arguments);
        let limit = limit.or(flight.then_some(flight::LIMIT));
        Self { folder, library, stacks, limit, flight, torch_history, keepers, modules }
    }

    /// The same recording, without PyTorch's own history: PyTorch refuses to keep one under the pool.
    pub(super) fn under_pool(self) -> Self {
        Self { torch_history: false, ..self }
    }

    /// The same recording, of a second run.
    pub(super) fn with_folder(&self, folder: RunFolder) -> Self {
        Self { folder, ..self.clone() }
    }

    /// Makes a command load the recorder. What comes back must live as long as the program: where code lies
    /// that its Python processes run.
    pub(super) fn equip(&self, command: &mut Command) -> Result<Option<InjectionFolder>> {
        let stacks = match self.stacks {
            Stacks::Off => "off",
            Stacks::Native => "native",
            Stacks::All => "all",
        };
        let folder = &self.folder.path;
        preload::add(command, &self.library);
        command
            .env(FOLDER_VARIABLE, folder)
            .env(STACKS_VARIABLE, stacks)
            .env_remove(LIMIT_VARIABLE);
        if let Some(limit) = self.limit {
            command.env(LIMIT_VARIABLE, limit.to_string());
        }
        if !self.torch_history && !self.keepers && !self.modules {
            return Ok(None);
        }
        let home = InjectionFolder::of_recording(folder)?;
        if self.torch_history {
            history::equip(command, folder, home.path())?;
        }
        if self.keepers {
            keepers::equip(command, folder, home.path())?;
        }
        if self.modules {
            modules::equip(command, home.path())?;
        }
        Ok(Some(home))
    }
}
