//! The unmodified PyTorch wheel: `tests/scenarios/torch/scenarios.json` says what is run.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::bench::Bench;
use crate::tools::{environment, root, scratch, shared_data, skipped};

#[derive(Deserialize)]
struct Scenario {
    name: String,
    script: String,
    args: Vec<String>,
    gpu: Vec<String>,
    env: BTreeMap<String, String>,
}

pub(super) fn run(bench: &Bench) -> Result<String> {
    let python = environment("torch")?.join("bin/python");
    let folder = root().join("tests/scenarios/torch");
    let list = std::fs::read_to_string(folder.join("scenarios.json"))?;
    let scenarios: Vec<Scenario> = serde_json::from_str(&list)?;
    let (mut held, mut failed) = (0, Vec::new());
    for scenario in &scenarios {
        let Some(arguments) = arguments(scenario)? else { continue };
        let script = folder.join(&scenario.script).display().to_string();
        let command = [vec![python.display().to_string(), script], arguments].concat();
        let settings: Vec<_> = scenario.env.clone().into_iter().collect();
        let outcome = bench.run_with(&scenario.gpu, &command, &settings)?;
        match outcome.figures().with_context(|| scenario.name.clone()) {
            Ok(figures) => {
                println!("{:<52} {}", scenario.name, short(&figures));
                held += 1;
            }
            Err(error) => {
                println!("{:<52} FAILED: {error:#}", scenario.name);
                failed.push(scenario.name.as_str());
            }
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join(", "));
    Ok(format!("{held} scenarios of {} hold with PyTorch from its own wheel", scenarios.len()))
}

/// The scenario's arguments with its places filled in; nothing where it needs data that is not here.
fn arguments(scenario: &Scenario) -> Result<Option<Vec<String>>> {
    let scratch = scratch("lab")?;
    let data = shared_data();
    if data.is_none() && scenario.args.iter().any(|argument| argument.contains("{data}")) {
        skipped(&scenario.name);
        return Ok(None);
    }
    let text = |path: &Path| path.display().to_string();
    let fill = |argument: &String| {
        let filled = argument.replace("{scratch}", &text(&scratch));
        data.as_ref().map_or(filled.clone(), |data| filled.replace("{data}", &text(data)))
    };
    Ok(Some(scenario.args.iter().map(fill).collect()))
}

/// Figures in one line, without long texts.
fn short(figures: &Value) -> String {
    let Some(fields) = figures.as_object() else { return figures.to_string() };
    let fields = fields.iter().map(|(name, value)| (name, value.to_string()));
    let fields = fields.filter(|(_, value)| value.len() <= 40);
    fields.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}
