//! `whyoom lab list`.

use std::io::Write;

use anyhow::Result;
use serde_json::json;
use whyoom_lab_core::models::{Figure, GpuModel, MODELS, Source};
use whyoom_redact::terminal::{Column, Table, wrap};
use whyoom_trace::Bytes;

use crate::{arguments::LabListArguments, terminal::full_width as width};

/// The schema's name and version (docs/json.md).
const SCHEMA: &str = "whyoom.lab.models";
const VERSION: u32 = 1;
/// All names of a model and its memory need so many columns.
const ALL_NAMES: usize = 72;

pub(crate) fn run(arguments: &LabListArguments) -> Result<()> {
    let mut out = anstream::stdout().lock();
    if arguments.json {
        let models: Vec<_> = MODELS.iter().map(as_json).collect();
        let answer = json!({ "schema": SCHEMA, "version": VERSION, "models": models });
        writeln!(out, "{answer:#}")?;
        return Ok(());
    }
    let width = width();
    for line in table(width).lines(width) {
        writeln!(out, "{line}")?;
    }
    let notes = [
        "--gpu takes each of these names, and the product's: --gpu 'RTX 4090'",
        "*  assumed; docs/dev/lab-models.md lists the source of every other value",
    ];
    writeln!(out)?;
    for note in notes {
        writeln!(out, "{}", wrap(note, width, ""))?;
    }
    Ok(())
}

/// The models by the names that `--gpu` takes; on a narrow terminal by the shortest of them.
fn table(width: usize) -> Table {
    let mut table = Table::new([
        Column::words("--gpu"),
        Column::numbers("memory"),
        Column::numbers("compute").expendable(1),
        // The mark of what is assumed stands behind the unit.
        Column::numbers("context ").expendable(2),
        Column::words("simulates").expendable(3),
    ]);
    for model in MODELS {
        let (major, minor) = model.compute_capability;
        table.row([
            names(model, width),
            Bytes(model.total.value).to_string(),
            format!("{major}.{minor}"),
            format!("{}{}", Bytes(model.context.value), mark(&model.context)),
            model.name.to_owned(),
        ]);
    }
    table
}

fn names(model: &GpuModel, width: usize) -> String {
    match width {
        ALL_NAMES.. => model.aliases.join(", "),
        _ => model.aliases.first().map_or(model.name, |alias| *alias).to_owned(),
    }
}

fn mark<T>(figure: &Figure<T>) -> &'static str {
    if matches!(figure.source, Source::Assumed) { "*" } else { " " }
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
        Source::Measured => ("measured", ""),
        Source::Assumed => ("assumed", ""),
    };
    json!({ "value": figure.value, "source": kind, "from": text })
}
