//! Programs whose allocations people recorded on real GPUs, run anew on the simulated one and
//! compared one by one: `tests/scenarios/real/runs.json` says what is run and what is known.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::side_by_side::side_by_side;
use crate::{
    lab::Bench,
    tools::{environment, root, shared_data, skipped},
};

/// A recording, and the program behind it.
#[derive(Deserialize)]
struct Recording {
    name: String,
    /// The lab's flags: the GPU that it was recorded on, as far as the recording tells.
    gpu: Vec<String>,
    under: Vec<Under>,
}

/// A version of PyTorch that the program is run under.
#[derive(Clone, Deserialize)]
struct Under {
    /// The name of the Python environment.
    environment: String,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    /// What is known, and must not get worse.
    agreement: Agreement,
    /// Why it is no better.
    #[serde(default)]
    why: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, PartialOrd)]
#[serde(rename_all = "snake_case")]
enum Agreement {
    Differs,
    /// All allocations in order, and the peak allocated.
    Allocations,
    /// The peak reserved, too.
    Bytes,
}

/// The line that `compare.py` prints.
#[derive(Deserialize)]
struct Figures {
    torch: String,
    agreement: Agreement,
    allocations_real: u64,
    allocations_in_order: u64,
    workspaces_set_aside: u64,
    peak_allocated_real: u64,
    peak_allocated_ours: u64,
    peak_reserved_real: u64,
    peak_reserved_ours: u64,
}

pub(super) fn run(bench: &Bench) -> Result<String> {
    let Some(data) = shared_data() else {
        skipped("programs recorded on real GPUs");
        return Ok("skipped: no recordings here".into());
    };
    let list = root().join("tests/scenarios/real/runs.json");
    let recordings: Vec<Recording> = serde_json::from_str(&std::fs::read_to_string(list)?)?;
    let every_run = |recording| pairs(recording);
    let runs: Vec<_> = recordings.iter().flat_map(every_run).collect();
    for (_, under) in &runs {
        // Before the threads start: two must not install one environment.
        environment(&under.environment)?;
    }
    let outcomes =
        side_by_side(&runs, |(recording, under)| compare(bench, &data, recording, under));
    report(&runs, outcomes)
}

fn pairs(recording: &Recording) -> Vec<(&Recording, &Under)> {
    recording.under.iter().map(|under| (recording, under)).collect()
}

fn compare(bench: &Bench, data: &Path, recording: &Recording, under: &Under) -> Result<Figures> {
    let text = |path: &Path| path.display().to_string();
    let script = root().join("tests/scenarios/real/compare.py");
    let snapshot = data.join("torch-snapshots").join(format!("{}.pickle", recording.name));
    let python = environment(&under.environment)?.join("bin/python");
    let command = [text(&python), text(&script), recording.name.clone(), text(&snapshot)];
    let settings: Vec<_> = under.settings.clone().into_iter().collect();
    let figures = bench.run_with(&recording.gpu, &command, &settings)?.figures()?;
    serde_json::from_value(figures).context("compare.py and this file differ")
}

fn report(runs: &[(&Recording, &Under)], outcomes: Vec<Result<Figures>>) -> Result<String> {
    ensure!(outcomes.len() == runs.len(), "{} of {} runs ended", outcomes.len(), runs.len());
    println!(
        "{:<48} {:<7} {:>11}  {:<29} {:<29} note",
        "recording", "torch", "in order", "peak allocated: real, ours", "peak reserved: real, ours"
    );
    let (mut equal, mut failed) = (0, Vec::new());
    for ((recording, under), outcome) in runs.iter().zip(outcomes) {
        match outcome {
            Ok(figures) => {
                println!("{:<48} {}", recording.name, row(&figures, under));
                equal += usize::from(figures.agreement == Agreement::Bytes);
                if figures.agreement < under.agreement {
                    failed.push(format!("{} under {}", recording.name, figures.torch));
                }
            }
            Err(error) => {
                println!("{:<48} FAILED: {error:#}", recording.name);
                failed.push(format!("{} in {}", recording.name, under.environment));
            }
        }
    }
    ensure!(failed.is_empty(), "agreed before, and do not now: {}", failed.join(", "));
    Ok(format!("{equal} of {} runs equal to recordings from real GPUs to the byte", runs.len()))
}

fn row(figures: &Figures, under: &Under) -> String {
    let order = format!("{}/{}", figures.allocations_in_order, figures.allocations_real);
    let pair = |real: u64, ours: u64| format!("{real:>14} {ours:>14}");
    let better = if figures.agreement > under.agreement { "better than known; " } else { "" };
    let aside = match figures.workspaces_set_aside {
        0 => String::new(),
        count => format!("{count} workspaces set aside; "),
    };
    let note = if figures.agreement == Agreement::Bytes { "equal" } else { &under.why };
    format!(
        "{:<7} {order:>11}  {} {} {better}{aside}{note}",
        figures.torch,
        pair(figures.peak_allocated_real, figures.peak_allocated_ours),
        pair(figures.peak_reserved_real, figures.peak_reserved_ours),
    )
}
