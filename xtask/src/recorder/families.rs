//! Every family of the driver's functions, by programs that were written to try the lab: what the
//! recorder recorded against the lab's log.

use anyhow::Result;

use super::{
    programs::recorded_right,
    stage::{Stage, python},
    tally::Tally,
    trial::{Trial, text},
};
use crate::{
    lab::programs::build,
    tools::{environment, root},
};

/// PyTorch's roads to memory: script, argument, settings of the allocator.
const TORCH: &[(&str, &str, &str)] = &[
    ("allocator_settings.py", "native", ""),
    ("allocator_settings.py", "expandable", "expandable_segments:True"),
    ("allocator_settings.py", "max_split", "max_split_size_mb:64"),
    ("allocator_settings.py", "async", "backend:cudaMallocAsync"),
    ("graph_training.py", "async", "backend:cudaMallocAsync"),
    ("graphs.py", "", ""),
    ("pluggable.py", "", ""),
    ("mempool.py", "", ""),
    ("streams.py", "", ""),
    ("shared_tensors.py", "", ""),
    ("dataloader.py", "", ""),
];

pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut tally = Tally::default();
    let mut calls = 0;
    let mut count = |stage: &Stage, trial: &Trial, name: &str| {
        let (_, made) = recorded_right(stage, trial, name)?;
        calls += made;
        Ok(format!("{made} driver calls"))
    };
    let clients = environment("clients")?.join("bin/python");
    let suite = root().join("tests/scenarios/clients/driver_api.py");
    let mut bindings = Trial::new("8GiB", &[text(&clients), text(&suite)]);
    bindings.lab.extend(["--gpus".to_owned(), "2".to_owned()]);
    tally.case("cuda-bindings", || count(stage, &bindings, "cuda-bindings"));
    let graphs = Trial::new("2GiB", &[text(&build()?.join("program16"))]);
    tally.case("graph memory", || count(stage, &graphs, "graph-memory"));
    for (script, argument, setting) in TORCH {
        let name = format!("{}-{argument}", script.trim_end_matches(".py"));
        let name = name.trim_end_matches('-');
        let mut trial = torch(script, argument)?;
        if !setting.is_empty() {
            trial = trial.with("PYTORCH_ALLOC_CONF", setting);
        }
        tally.case(name, || count(stage, &trial, name));
    }
    let held = tally.all()?;
    Ok(format!("{held} programs, {calls} driver calls, none missing, none extra"))
}

fn torch(script: &str, argument: &str) -> Result<Trial> {
    let script = root().join("tests/scenarios/torch").join(script);
    let mut command = vec![python()?, text(&script)];
    command.extend((!argument.is_empty()).then(|| argument.to_owned()));
    Ok(Trial::new("8GiB", &command))
}
