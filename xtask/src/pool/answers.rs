//! What `torch.cuda` answers about memory under the pool.

use anyhow::Result;

use super::{POOL, source};
use crate::recorder::{
    stage::{Stage, python},
    trial::{Trial, text},
};

pub(super) fn run(stage: &Stage) -> Result<String> {
    let trial = Trial::new("4GiB", &[python()?, text(&source("answers.py"))]);
    let figures = trial.recorded_with(stage, "pool-answers", &[POOL])?.ran.figures()?;
    println!("{figures}");
    Ok("PyTorch's figures, snapshot, graphs and OutOfMemoryError are answered by the pool"
        .to_owned())
}
