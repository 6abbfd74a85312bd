//! CUDA graphs under the pool: captures and replays as without, and the memory of a graph is nobody
//! else's as long as the graph is there.

use anyhow::{Context, Result, ensure};
use harness::{Held, Trial};
use serde::{Deserialize, de::DeserializeOwned};

use super::{POOL, script};

/// What graphs.py says.
#[derive(Deserialize)]
struct Graphs {
    copied: u64,
    refusal: String,
    private: u64,
    came_back: u64,
}

/// What graph_training.py says.
#[derive(Deserialize)]
struct Training {
    allocated: u64,
    reserved: u64,
    graphed_reserved: u64,
}

/// What untouched.py says.
#[derive(Debug, Deserialize)]
struct Untouched {
    holds: bool,
    rounds: u64,
    others_took: u64,
    others_took_after: u64,
}

pub(super) fn graphs() -> Result<Held> {
    let (plain, pooled): (Graphs, Graphs) = both(&script("8GiB", "torch/graphs.py")?, "graphs")?;
    let of = |graphs: &Graphs| (graphs.copied, graphs.refusal.clone(), graphs.private);
    let (own, other) = (of(&pooled), of(&plain));
    ensure!(own == other, "{own:?} in place of {other:?}");
    ensure!(pooled.came_back >= pooled.private, "{} came back", pooled.came_back);
    Ok(Held::new(format!("{} bytes of private pools, as without", pooled.private)))
}

pub(super) fn graph_training() -> Result<Held> {
    let mut trial = script("8GiB", "torch/graph_training.py")?;
    trial.command.push("native".to_owned());
    let (plain, pooled): (Training, Training) = both(&trial, "graph_training")?;
    let (own, other) = (pooled.allocated, plain.allocated);
    ensure!(own == other, "{own} in use in place of {other}");
    let least = pooled.reserved.min(pooled.graphed_reserved);
    ensure!(pooled.reserved >= own && least > 0, "only {least} reserved");
    Ok(Held::new(format!("{own} bytes in use by a step in a graph, as without")))
}

/// What a script says without the pool, and with it.
fn both<T: DeserializeOwned>(trial: &Trial, name: &str) -> Result<(T, T)> {
    let plain = trial.plain_shared()?.figures().context("without the pool")?;
    Ok((plain, trial.recorded_with(&format!("pool-{name}"), &[POOL])?.ran.figures()?))
}

pub(super) fn untouched() -> Result<Held> {
    let trial = script("2GiB", "pool/untouched.py")?;
    let said: Untouched = trial.recorded_with("pool-untouched", &[POOL])?.ran.figures()?;
    ensure!(said.holds && said.rounds > 0 && said.others_took > 0, "{said:?}");
    ensure!(said.others_took_after > said.others_took, "the graph's memory is not free after it");
    Ok(Held::new(format!("a graph's memory stays its own in {} rounds", said.rounds)))
}
