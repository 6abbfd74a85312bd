//! `--vary` against a sweep over every value of the range.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{question::Script, side_by_side::side_by_side};
use crate::lab::Bench;

const GPU: &str = "l4";
/// So many runs may be made for one GPU.
const MAX_RUNS: usize = 6;

/// Ranges in which the edge lies, short enough to be swept.
const SCRIPTS: &[Script] = &[
    Script { name: "GPT-2 124M", file: "gpt2.py", flags: &[], batches: "1..24" },
    Script { name: "ViT-B/16", file: "vit.py", flags: &["--amp"], batches: "32..416:16" },
    Script { name: "ResNet-50", file: "resnet50.py", flags: &[], batches: "128..320:8" },
    Script { name: "LSTM", file: "lstm.py", flags: &[], batches: "64..432:16" },
    Script { name: "U-Net", file: "unet.py", flags: &[], batches: "40..136:4" },
];

pub(super) fn run(bench: &Bench) -> Result<String> {
    println!("{:<12} {:<14} {:>8} {:>8} {:>6}", "script", "batches", "--vary", "sweep", "runs");
    let mut most = 0;
    for script in SCRIPTS {
        let answer = script.ask_for_largest(bench, GPU)?;
        let found = answer["vary"]["largest"][0]["value"].as_u64();
        let runs = answer["vary"]["runs"].as_array().map_or(0, Vec::len);
        let swept = sweep(bench, script)?;
        let edge = edge(bench, script, found)?;
        println!(
            "{:<12} {:<14} {:>8} {:>8} {runs:>6}  {edge}",
            script.name,
            script.batches,
            shown(found),
            shown(swept),
        );
        ensure!(found == swept, "{}: the sweep found another value", script.name);
        ensure!(runs <= MAX_RUNS, "{}: {runs} runs", script.name);
        most = most.max(runs);
    }
    Ok(format!("{} scripts, the same batch as a sweep, in at most {most} runs", SCRIPTS.len()))
}

fn shown(value: Option<u64>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

/// Runs it at the value and at the next one, on a simulated GPU with the real one's memory.
fn edge(bench: &Bench, script: &Script, found: Option<u64>) -> Result<&'static str> {
    let found = found.with_context(|| format!("{}: nothing fits", script.name))?;
    let next = values(script.batches)?.into_iter().find(|value| *value > found);
    let next = next.with_context(|| format!("{}: the range has no edge", script.name))?;
    ensure!(script.runs_on(bench, GPU, found)?, "{}: {found} runs out of memory", script.name);
    // A convolution whose workspace is refused tries an engine with a smaller one: then a little more
    // runs than the replay of what was asked for can promise.
    Ok(match script.runs_on(bench, GPU, next)? {
        true => "runs there, and at the next with smaller workspaces",
        false => "runs there, runs out of memory at the next",
    })
}

/// The largest value of the range that fits, from a run at each.
fn sweep(bench: &Bench, script: &Script) -> Result<Option<u64>> {
    let values = values(script.batches)?;
    let answers =
        side_by_side(&values, |value| script.ask(bench, &["--gpu", GPU], &value.to_string()));
    ensure!(answers.len() == values.len(), "{} of {} runs ended", answers.len(), values.len());
    let answers = answers.into_iter().collect::<Result<Vec<Value>>>()?;
    let fitting = values.into_iter().zip(&answers).filter(|(_, answer)| fits(answer));
    Ok(fitting.map(|(value, _)| value).max())
}

fn fits(answer: &Value) -> bool {
    answer["gpus"][0]["fits"] == true
}

/// The values of a range like `8..512:8`.
fn values(range: &str) -> Result<Vec<u64>> {
    let (ends, step) = range.split_once(':').unwrap_or((range, "1"));
    let (first, last) = ends.split_once("..").context("no range")?;
    Ok((first.parse()?..=last.parse()?).step_by(step.parse()?).collect())
}
