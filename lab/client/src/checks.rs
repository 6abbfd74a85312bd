//! Counting checks, so that one failure does not hide the next.

use std::fmt::Debug;

use cudarc::driver::{DriverError, sys::CUresult};

/// How many checks were made, and which of them failed.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    count: usize,
    failed: Vec<String>,
}

impl Checks {
    /// One check.
    pub(crate) fn that(&mut self, what: &str, holds: bool) {
        self.count += 1;
        if !holds {
            eprintln!("FAILED {what}");
            self.failed.push(what.to_owned());
        }
    }

    /// Two values are the same.
    pub(crate) fn equal<T: PartialEq + Debug>(&mut self, what: &str, found: &T, expected: &T) {
        let holds = found == expected;
        self.that(&format!("{what}: {found:?}, expected {expected:?}"), holds);
    }

    /// A call fails with one of the codes that are documented for the case.
    pub(crate) fn refused<T>(
        &mut self,
        what: &str,
        answer: Result<T, DriverError>,
        allowed: &[CUresult],
    ) {
        let code = answer.err().map(|error| error.0);
        let holds = code.is_some_and(|code| allowed.contains(&code));
        self.that(&format!("{what}: {code:?}, expected one of {allowed:?}"), holds);
    }

    /// Runs a test; what stops it is a failure like any other.
    pub(crate) fn run(&mut self, name: &str, test: impl FnOnce(&mut Self) -> anyhow::Result<()>) {
        if let Err(error) = test(self) {
            self.that(&format!("{name} stopped: {error:#}"), false);
        }
    }

    /// The line for the harness, and whether all checks held.
    pub(crate) fn summary(&self) -> (String, bool) {
        let holds = self.failed.is_empty();
        let line = serde_json::json!({
            "suite": "cudarc",
            "checks": self.count,
            "failed": self.failed,
            "holds": holds,
        });
        (line.to_string(), holds)
    }
}
