//! A program that dies under PyTorch's allocator, with expandable segments as without, and runs to its
//! end under the pool.

use anyhow::{Context, Result, ensure};
use harness::Held;
use serde::Deserialize;
use whyoom_trace::Bytes;

use super::{POOL, script};

const MEMORY: &str = "3GiB";
/// What Python says last of a program that dies so.
const DEATH: &str = "torch.OutOfMemoryError: CUDA out of memory.";

/// What dies.py says where it lives.
#[derive(Debug, Deserialize)]
struct Lived {
    workers: u64,
    peak_allocated: u64,
    peak_reserved: u64,
}

pub(super) fn run() -> Result<Held> {
    let trial = script(MEMORY, "pool/dies.py")?;
    for setting in ["", "expandable_segments:True"] {
        let died = trial.clone().with("PYTORCH_ALLOC_CONF", setting).plain()?;
        let name = if setting.is_empty() { "native" } else { setting };
        ensure!(died.status == 1, "{name}: it ended with {}:\n{}", died.status, died.stderr);
        let death = died.stderr.lines().find(|line| line.starts_with(DEATH));
        let death =
            death.with_context(|| format!("{name}: it died otherwise:\n{}", died.stderr))?;
        println!("{name:<28} {}", death.split(" If ").next().unwrap_or(death));
    }
    let lived: Lived = trial.recorded_with("pool-rescue", &[POOL])?.ran.figures()?;
    let (in_use, reserved) = (lived.peak_allocated, lived.peak_reserved);
    ensure!(lived.workers > 0 && reserved >= in_use && in_use > 0, "{lived:?}");
    println!("{:<28} {} in use at the peak, {} reserved", "pool", Bytes(in_use), Bytes(reserved));
    Ok(Held::new(format!(
        "a program that dies on {MEMORY} under native and under expandable segments ends under the \
         pool with {} reserved",
        Bytes(reserved)
    )))
}
