//! What the process was started with.

use std::{env, path::PathBuf};

use whyoom_recording::Options;

use super::{
    settings::{self, Setting},
    stacks::Depth,
    standard_error,
};

/// What the process was started with, read once: the program may change it.
pub(super) struct Environment {
    pub(super) folder: PathBuf,
    pub(super) options: Options,
    pub(super) stacks: Depth,
    pub(super) settings: Vec<Setting>,
    /// Variables whose value cannot be meant.
    pub(super) invalid: Vec<&'static str>,
}

impl Environment {
    /// Nothing where no recording was asked for.
    pub(super) fn read() -> Option<Self> {
        let folder = env::var_os("WHYOOM_RECORDING").filter(|folder| !folder.is_empty())?;
        let mut invalid = Vec::new();
        let mut number = |name| {
            let text = env::var_os(name).filter(|text| !text.is_empty())?;
            let number: Option<u64> = text.to_str().and_then(|text| text.parse().ok());
            if number.is_none() {
                invalid.push(name);
            }
            number
        };
        let mut options = Options { limit: number("WHYOOM_RECORDING_LIMIT"), ..Options::default() };
        if let Some(bytes) = number("WHYOOM_RECORDING_SEGMENT") {
            options.segment_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        let stacks = Depth::from_environment().unwrap_or_else(|name| {
            invalid.push(name);
            Depth::All
        });
        let settings = settings::told();
        standard_error::remember();
        let folder = folder.into();
        Some(Self { folder, options, stacks, settings, invalid })
    }

    /// Says which variables are as if they were not there. When recording begins, and not before: the library
    /// is in every program that the environment reaches.
    pub(super) fn warn_invalid(&self) {
        for name in &self.invalid {
            standard_error::say(&format!(
                "whyoom: the value of {name} cannot be read and is ignored\n"
            ));
        }
    }
}
