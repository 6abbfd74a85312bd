//! A program that dies under PyTorch's allocator, with expandable segments as without, and runs to its
//! end under the pool.

use anyhow::{Context, Result, ensure};
use whyoom_trace::Bytes;

use super::{POOL, source};
use crate::{
    recorder::{
        stage::{Stage, python},
        trial::{Trial, text},
    },
    tools::number,
};

const MEMORY: &str = "3GiB";
/// What Python says last of a program that dies so.
const DEATH: &str = "torch.OutOfMemoryError: CUDA out of memory.";

pub(super) fn run(stage: &Stage) -> Result<String> {
    let trial = Trial::new(MEMORY, &[python()?, text(&source("dies.py"))]);
    for setting in ["", "expandable_segments:True"] {
        let died = trial.clone().with("PYTORCH_ALLOC_CONF", setting).plain(stage)?;
        let name = if setting.is_empty() { "native" } else { setting };
        ensure!(died.status == 1, "{name}: it ended with {}:\n{}", died.status, died.stderr);
        let death = died.stderr.lines().find(|line| line.starts_with(DEATH));
        let death =
            death.with_context(|| format!("{name}: it died otherwise:\n{}", died.stderr))?;
        println!("{name:<28} {}", death.split(" If ").next().unwrap_or(death));
    }
    let lived = trial.recorded_with(stage, "pool-rescue", &[POOL])?.ran.figures()?;
    let bytes = |name: &str| Bytes(number(&lived[name]) as u64).to_string();
    let (in_use, reserved) = (bytes("peak_allocated"), bytes("peak_reserved"));
    println!("{:<28} ended with 0, {in_use} in use at the peak, {reserved} reserved", "pool");
    Ok(format!(
        "a program that dies on {MEMORY} under native and under expandable segments ends under the \
         pool with {reserved} reserved"
    ))
}
