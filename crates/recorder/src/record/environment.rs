//! What the process was started with.

use std::{env, path::PathBuf};

use whyoom_recording::Options;

use super::{
    settings::{self, Setting},
    stacks::Depth,
};

/// What the process was started with, read once: the program may change it.
pub(super) struct Environment {
    pub(super) folder: PathBuf,
    pub(super) options: Options,
    pub(super) stacks: Depth,
    pub(super) settings: Vec<Setting>,
    /// Variables whose value cannot be meant.
    pub(super) nonsense: Vec<&'static str>,
    /// Standard error as it was then: its device and number.
    standard_error: Option<(u64, u64)>,
}

impl Environment {
    /// Nothing where no recording was asked for.
    pub(super) fn read() -> Option<Self> {
        let folder = env::var_os("WHYOOM_RECORDING").filter(|folder| !folder.is_empty())?;
        let mut nonsense = Vec::new();
        let mut number = |name| {
            let text = env::var_os(name).filter(|text| !text.is_empty())?;
            let number: Option<u64> = text.to_str().and_then(|text| text.parse().ok());
            if number.is_none() {
                nonsense.push(name);
            }
            number
        };
        let mut options = Options { limit: number("WHYOOM_RECORDING_LIMIT"), ..Options::default() };
        if let Some(bytes) = number("WHYOOM_RECORDING_SEGMENT") {
            options.segment_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        let stacks = Depth::from_environment().unwrap_or_else(|name| {
            nonsense.push(name);
            Depth::All
        });
        let settings = settings::told();
        let standard_error = identity_of_standard_error();
        let folder = folder.into();
        Some(Self { folder, options, stacks, settings, nonsense, standard_error })
    }

    /// Says which variables are as if they were not there. When recording begins, and not before: the library
    /// is in every program that the environment reaches.
    pub(super) fn say_nonsense(&self) {
        for name in &self.nonsense {
            self.say(&format!("whyoom: the value of {name} cannot be read, and is not used\n"));
        }
    }

    /// Writes a line to standard error, unless the program has opened something of its own there.
    pub(super) fn say(&self, line: &str) {
        if self.standard_error.is_some() && self.standard_error == identity_of_standard_error() {
            let (file, from) = (libc::STDERR_FILENO, line.as_ptr());
            // The C library's `write` would end a thread here that was cancelled.
            // SAFETY: writes from a string that lives through the call.
            unsafe { libc::syscall(libc::SYS_write, file, from, line.len()) };
        }
    }
}

fn identity_of_standard_error() -> Option<(u64, u64)> {
    // SAFETY: all of its fields are numbers, for which zero is a value.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: writes to a place that lives through the call.
    let found = unsafe { libc::fstat(libc::STDERR_FILENO, &mut status) } == 0;
    found.then_some((status.st_dev, status.st_ino))
}
