//! Who follows a run: a process, by its number and its start.

use serde::{Deserialize, Serialize};
use whyoom_files::kernel;

/// A process that no other is taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Watching {
    pid: u32,
    start_ticks: u64,
}

impl Watching {
    /// This process.
    #[cfg(target_os = "linux")]
    pub(crate) fn this_process() -> Self {
        let pid = std::process::id();
        Self { pid, start_ticks: start_ticks(pid).unwrap_or(0) }
    }

    /// Whether it still runs here.
    pub(crate) fn runs(self) -> bool {
        start_ticks(self.pid).is_some_and(|ticks| ticks == self.start_ticks)
    }
}

/// When a process started, in clock ticks after the machine did; nothing where it has ended.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = kernel::text(format!("/proc/{pid}/stat")).ok()?;
    // The name may have blanks and parentheses.
    let mut fields = stat.rsplit_once(") ")?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let ended = state.starts_with(['Z', 'X']);
    fields.nth(18)?.parse().ok().filter(|_| !ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_another_start_does_not() {
        let this = Watching::this_process();
        assert!(this.start_ticks > 0 && this.runs());
        assert!(!Watching { start_ticks: this.start_ticks - 1, ..this }.runs());
    }
}
