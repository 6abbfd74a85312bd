//! What `torch.cuda` answers about memory under the pool.

use anyhow::{Result, ensure};
use harness::Held;
use serde::Deserialize;

use super::{POOL, script};

/// What the script's parts counted, each of which asserts more than that.
#[derive(Debug, Deserialize)]
struct Answers {
    /// Figures in `memory_stats`.
    figures: u64,
    /// Blocks in the snapshot.
    snapshot: u64,
    /// Elements of what a graph computed.
    graphs: u64,
    /// Requests that were refused.
    failures: u64,
}

/// PyTorch's own allocator has so many figures at least.
const FIGURES: u64 = 60;
/// In answers.py.
const ELEMENTS: u64 = 1000;

pub(super) fn run() -> Result<Held> {
    let trial = script("4GiB", "pool/answers.py")?;
    let answers: Answers = trial.recorded_with("pool-answers", &[POOL])?.ran.figures()?;
    let Answers { figures, snapshot, graphs, failures } = answers;
    ensure!(figures >= FIGURES && snapshot > 0, "{answers:?}");
    ensure!(graphs == ELEMENTS && failures == 2, "{answers:?}");
    Ok(Held::new(format!(
        "PyTorch's {figures} figures, snapshot, graphs and OutOfMemoryError are answered by the pool"
    )))
}
