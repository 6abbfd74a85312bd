//! CUDA graphs under the pool: captures and replays as without, and the memory of a graph is nobody
//! else's as long as the graph is there.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{POOL, source};
use crate::{
    recorder::{
        stage::{Stage, python},
        tally::Tally,
        trial::{Ran, Trial, text},
    },
    tools::root,
};

/// Scripts of PyTorch's own scenarios, with their arguments; what each must report as without the pool.
const SCRIPTS: &[(&str, &[&str], &[&str])] = &[
    ("graphs.py", &[], &["copied", "refusal", "private"]),
    ("graph_training.py", &["native"], &["allocated"]),
];

pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut tally = Tally::default();
    for (script, arguments, same) in SCRIPTS {
        tally.case(script, || {
            let path = root().join("tests/scenarios/torch").join(script);
            let mut trial = Trial::new("8GiB", &[python()?, text(&path)]);
            trial.command.extend(arguments.iter().map(|word| (*word).to_owned()));
            let plain = trial.plain(stage)?.figures().context("without the pool")?;
            let pooled = trial.recorded_with(stage, &format!("pool-{script}"), &[POOL])?.ran;
            let figures = pooled.figures()?;
            for name in *same {
                let (own, other) = (&figures[*name], &plain[*name]);
                ensure!(own == other, "{name} is {own} in place of {other}");
            }
            Ok(figures.to_string())
        });
    }
    tally.case("untouched", || {
        let trial = Trial::new("2GiB", &[python()?, text(&source("untouched.py"))]);
        let figures = trial.recorded_with(stage, "pool-untouched", &[POOL])?.ran;
        Ok(figures_of(&figures)?.to_string())
    });
    let count = tally.all()?;
    Ok(format!("{count} programs with CUDA graphs; a graph's memory stays its own"))
}

fn figures_of(ran: &Ran) -> Result<Value> {
    let figures = ran.figures()?;
    ensure!(figures["holds"] == true, "{figures}");
    Ok(figures)
}
