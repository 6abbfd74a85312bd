//! Cases that are all tried, though one fails.

use anyhow::{Result, ensure};

/// What held and what did not.
#[derive(Default)]
pub(crate) struct Tally {
    held: usize,
    failed: Vec<String>,
}

impl Tally {
    /// Tries a case, and prints what came of it.
    pub(crate) fn case(&mut self, name: &str, case: impl FnOnce() -> Result<String>) {
        match case() {
            Ok(seen) => {
                println!("{name:<24} {seen}");
                self.held += 1;
            }
            Err(error) => {
                println!("{name:<24} FAILED: {error:#}");
                self.failed.push(name.to_owned());
            }
        }
    }

    /// How many held; an error where one did not.
    pub(crate) fn all(&self) -> Result<usize> {
        let failed = self.failed.len();
        ensure!(failed == 0, "{failed} of {}: {}", self.held + failed, self.failed.join(", "));
        Ok(self.held)
    }
}
