//! Every family of the driver's functions, by programs that were written to try the lab: what the
//! recorder recorded against the lab's log.

use anyhow::Result;
use harness::{Check, Held, Trial, cuda_programs, environment, python, root, text};

use super::programs::recorded_right;

/// PyTorch's roads to memory: script, argument, settings of the allocator.
const TORCH: &[(&str, &str, &str)] = &[
    ("allocator_settings", "native", ""),
    ("allocator_settings", "expandable", "expandable_segments:True"),
    ("allocator_settings", "max_split", "max_split_size_mb:64"),
    ("allocator_settings", "async", "backend:cudaMallocAsync"),
    ("graph_training", "async", "backend:cudaMallocAsync"),
    ("graphs", "", ""),
    ("pluggable", "", ""),
    ("mempool", "", ""),
    ("streams", "", ""),
    ("shared_tensors", "", ""),
    ("dataloader", "", ""),
];

pub(super) fn checks() -> Vec<Check> {
    let mut checks = vec![
        check("cuda-bindings".to_owned(), || driver_suite(None)),
        check("graph-memory".to_owned(), || {
            Ok(Trial::new("2GiB", &[cuda_programs()?.join("program16")]))
        }),
    ];
    checks.extend(TORCH.iter().map(|&(script, argument, setting)| {
        let name = format!("{script}-{argument}");
        check(name.trim_end_matches('-').to_owned(), move || torch(script, argument, setting))
    }));
    checks
}

fn check(name: String, trial: impl FnOnce() -> Result<Trial> + Send + 'static) -> Check {
    Check::new(format!("families::{name}"), move || {
        let (_, calls) = recorded_right(&trial()?, &name)?;
        Ok(Held::new(format!("{calls} driver calls")).count("driver calls", calls))
    })
}

/// A program that calls the driver's functions, of all families or of one.
pub(super) fn driver_suite(family: Option<&str>) -> Result<Trial> {
    let python = environment("clients")?.join("bin/python");
    let suite = root().join("tests/scenarios/clients/driver_api.py");
    let mut command = vec![text(&python), text(&suite)];
    command.extend(family.map(str::to_owned));
    Ok(Trial::on(&["--memory", "8GiB", "--gpus", "2"], &command))
}

fn torch(script: &str, argument: &str, setting: &str) -> Result<Trial> {
    let script = root().join("tests/scenarios/torch").join(script).with_extension("py");
    let mut command = vec![python()?, text(&script)];
    command.extend((!argument.is_empty()).then(|| argument.to_owned()));
    let trial = Trial::new("8GiB", &command);
    let name = "PYTORCH_ALLOC_CONF";
    Ok(if setting.is_empty() { trial } else { trial.with(name, setting) })
}
