//! The folder that /proc is in, and the few ways in which it is read.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use whyoom_files::kernel;

/// Asks the kernel whether a process number is in use; `None` where it cannot be asked.
pub(crate) type Existence = fn(u32) -> Option<bool>;

/// /proc, or a folder like it.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    path: PathBuf,
}

impl Root {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// A file as text. Programs write what they like into their names and command lines, so what is
    /// not text is replaced.
    pub(crate) fn text(&self, name: impl AsRef<Path>) -> Option<String> {
        let bytes = kernel::bytes(self.join(name)).ok()?;
        Some(
            String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }

    /// The numbers among the names of a folder, sorted.
    pub(crate) fn numbers(&self, folder: impl AsRef<Path>) -> io::Result<Vec<u32>> {
        let entries = fs::read_dir(self.join(folder))?;
        let mut numbers: Vec<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The number of a namespace, from a link such as `pid:[4026531836]`.
    pub(crate) fn namespace(&self, link: impl AsRef<Path>) -> Option<u64> {
        let target = fs::read_link(self.join(link)).ok()?;
        let (_, number) = target.to_str()?.split_once('[')?;
        number.strip_suffix(']')?.parse().ok()
    }

    /// The number of this process in this /proc; a saved one has none.
    pub(crate) fn own_pid(&self) -> Option<u32> {
        fs::read_link(self.join("self")).ok()?.to_str()?.parse().ok()
    }

    /// When the machine started, in seconds since 1970.
    pub(crate) fn boot_time(&self) -> Option<u64> {
        let text = self.text("stat")?;
        text.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
    }
}
