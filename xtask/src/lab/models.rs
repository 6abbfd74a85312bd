//! `whyoom lab calibrate` on each simulated model gives the model's own figures back.

use anyhow::{Context, Result, ensure};
use whyoom_lab_core::models::MODELS;

use super::bench::Bench;

pub(super) fn run(bench: &Bench) -> Result<String> {
    let whyoom = bench.binaries.join("whyoom").display().to_string();
    let command = [&whyoom, "lab", "calibrate", "--json"].map(str::to_owned);
    let mut measured = 0;
    for model in MODELS {
        let outcome = bench.run(&["--gpu", model.name], &command)?;
        ensure!(outcome.success, "{}: {}", model.name, outcome.stderr);
        let answer: serde_json::Value = serde_json::from_str(&outcome.stdout)?;
        ensure!(answer["simulated"] == true, "{}: not said to be simulated", model.name);
        let figures = answer["figures"].as_object().context("no figures")?;
        for (name, figure) in figures.iter().filter(|(_, figure)| !figure["value"].is_null()) {
            ensure!(figure["equal"] == true, "{}: {name} is {figure}", model.name);
            measured += 1;
        }
        println!("{:<40} {} figures", model.name, figures.len());
    }
    Ok(format!("{measured} figures of {} models measured and equal", MODELS.len()))
}
