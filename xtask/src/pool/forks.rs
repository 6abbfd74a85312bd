//! Processes that fork under the pool: the child's frees do nothing, and nothing hangs.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{POOL, source};
use crate::{
    recorder::{
        stage::{Stage, python},
        tally::Tally,
        trial::{Trial, text},
    },
    tools::root,
};

pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut tally = Tally::default();
    tally.case("children that free", || {
        let trial = Trial::new("4GiB", &[python()?, text(&source("forks.py"))]);
        let figures = trial.recorded_with(stage, "pool-forks", &[POOL])?.ran.figures()?;
        ensure!(figures["children"] == json!([0, 0, 0]), "{figures}");
        Ok(figures.to_string())
    });
    tally.case("DataLoader", || {
        let script = root().join("tests/scenarios/torch/dataloader.py");
        let trial = Trial::new("8GiB", &[python()?, text(&script)]);
        let figures = trial.recorded_with(stage, "pool-dataloader", &[POOL])?.ran.figures()?;
        Ok(figures.to_string())
    });
    tally.all()?;
    Ok("children free their parent's tensors to no effect; forked loaders work".to_owned())
}
