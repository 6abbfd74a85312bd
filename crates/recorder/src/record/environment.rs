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
    /// Standard error as it was then: its device and number.
    standard_error: Option<(u64, u64)>,
}

impl Environment {
    /// Nothing where no recording was asked for.
    pub(super) fn read() -> Option<Self> {
        let folder = env::var_os("WHYOOM_RECORDING").filter(|folder| !folder.is_empty())?;
        let number = |name| env::var(name).ok().and_then(|text: String| text.parse().ok());
        let mut options = Options { limit: number("WHYOOM_RECORDING_LIMIT"), ..Options::default() };
        if let Some(bytes) = number("WHYOOM_RECORDING_SEGMENT") {
            options.segment_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        let stacks = Depth::from_environment();
        let settings = settings::told();
        let standard_error = identity_of_standard_error();
        Some(Self { folder: folder.into(), options, stacks, settings, standard_error })
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
