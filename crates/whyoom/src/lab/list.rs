//! `whyoom lab list`.

use std::io::Write;

use anyhow::Result;
use serde_json::json;
use whyoom_lab_core::models::{Figure, GpuModel, MODELS, Source};
use whyoom_trace::Bytes;

use crate::arguments::LabListArguments;

/// The schema's name and version (docs/json.md).
const SCHEMA: &str = "whyoom.lab.models";
const VERSION: u32 = 1;

pub(crate) fn run(arguments: &LabListArguments) -> Result<()> {
    let mut out = anstream::stdout().lock();
    if arguments.json {
        let models: Vec<_> = MODELS.iter().map(as_json).collect();
        let answer = json!({ "schema": SCHEMA, "version": VERSION, "models": models });
        writeln!(out, "{answer:#}")?;
        return Ok(());
    }
    let row = |cells: [&str; 6]| {
        let [alias, name, memory, compute, context, mark] = cells;
        format!("{alias:<13} {name:<49} {memory:>10} {compute:>7} {context:>11}{mark}")
    };
    writeln!(out, "{}", row(["--gpu", "simulates", "memory", "compute", "context", ""]))?;
    for model in MODELS {
        let (major, minor) = model.compute_capability;
        let cells = row([
            model.aliases.first().unwrap_or(&model.name),
            model.name,
            &Bytes(model.total.value).to_string(),
            &format!("{major}.{minor}"),
            &Bytes(model.context.value).to_string(),
            mark(&model.context),
        ]);
        writeln!(out, "{cells}")?;
    }
    writeln!(out, "\n*  assumed; docs/lab-models.md tells where each other figure comes from")?;
    Ok(())
}

fn mark<T>(figure: &Figure<T>) -> &'static str {
    if matches!(figure.source, Source::Assumed) { "*" } else { "" }
}

fn as_json(model: &GpuModel) -> serde_json::Value {
    json!({
        "name": model.name,
        "aliases": model.aliases,
        "compute_capability": [model.compute_capability.0, model.compute_capability.1],
        "total_bytes": figure(&model.total),
        "nvml_total_bytes": figure(&model.nvml_total),
        "context_bytes": figure(&model.context),
        "granularity_bytes": figure(&model.granularity),
    })
}

fn figure(figure: &Figure<u64>) -> serde_json::Value {
    let (kind, text) = match figure.source {
        Source::Documented(text) => ("documented", text),
        Source::Observed(text) => ("observed", text),
        Source::Assumed => ("assumed", ""),
    };
    json!({ "value": figure.value, "source": kind, "from": text })
}
