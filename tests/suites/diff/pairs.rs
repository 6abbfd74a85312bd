//! `whyoom diff` on pairs of runs with one planted difference each (tests/scenarios/diff): it is named first.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail, ensure};
use harness::{
    Build, Check, Held, Trial, environment, from_slice, from_str, root, text, two_at_a_time,
};
use serde::Deserialize;
use serde_json::Value;

use super::truth::{Named, Truth};

/// What is named first in so many of so many.
const ENOUGH: (usize, usize) = (28, 30);
/// The pairs that the gate runs: one of each sort, and quick ones.
const IN_GATE: [&str; 6] = [
    "gpt-wider-mlp",
    "cnn-sgd-to-adam",
    "segmentation-batch",
    "contrastive-features-kept",
    "allocator-expandable",
    "refactoring-split",
];

/// A pair, as pairs.json has it.
#[derive(Clone, Deserialize)]
struct Pair {
    name: String,
    #[expect(dead_code, reason = "for people")]
    what: String,
    run: Sides,
    truth: Truth,
    #[expect(dead_code, reason = "for people")]
    measured: Value,
}

#[derive(Clone, Deserialize)]
struct Sides {
    a: Side,
    b: Side,
}

/// One run of a pair.
#[derive(Clone, Deserialize)]
struct Side {
    file: String,
    venv: String,
    gpu: String,
    gpus: u32,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    launcher: Option<String>,
}

/// The part of `whyoom diff --json` that tells what changed.
#[derive(Deserialize)]
struct Said {
    answer: String,
    ranks: Vec<Rank>,
}

#[derive(Deserialize)]
struct Rank {
    unchanged: bool,
    peak: View,
    same_phase: Option<SamePhase>,
    settings: Vec<Setting>,
}

#[derive(Deserialize)]
struct SamePhase {
    view: View,
}

#[derive(Deserialize)]
struct View {
    explanations: Vec<Named>,
}

#[derive(Deserialize)]
struct Setting {
    name: String,
}

/// A check for each pair that the gate runs, and one for all of them.
pub(super) fn checks() -> Result<Vec<Check>> {
    let pairs: Vec<Pair> = from_str(&fs::read_to_string(folder().join("pairs.json"))?)?;
    let check = |pair: &Pair| {
        let pair = pair.clone();
        Check::new(format!("pairs::{}", pair.name), move || {
            named_first(&pair).with_context(|| pair.name.clone())
        })
    };
    let in_gate = |pair: &&Pair| IN_GATE.contains(&pair.name.as_str());
    let mut checks: Vec<Check> = pairs.iter().filter(in_gate).map(check).collect();
    ensure!(checks.len() == IN_GATE.len(), "a pair of the gate is not in pairs.json");
    checks.push(Check::new("deep-pairs", move || all(&pairs)));
    Ok(checks)
}

/// All pairs, two at a time. Some may be named otherwise, and are told.
fn all(pairs: &[Pair]) -> Result<Held> {
    let outcomes = two_at_a_time(pairs, named_first);
    let mut right = 0;
    for (pair, outcome) in pairs.iter().zip(outcomes) {
        match outcome {
            Ok(held) => {
                right += 1;
                println!("named   {}: {}", pair.name, held.figure);
            }
            Err(error) => println!("MISSED  {}: {error:#}", pair.name),
        }
    }
    let said = format!("{right} of {} pairs named first", pairs.len());
    ensure!(right * ENOUGH.1 >= pairs.len() * ENOUGH.0, "{said}, of which {ENOUGH:?} are wanted");
    Ok(Held::new(said))
}

fn folder() -> PathBuf {
    root().join("tests/scenarios/diff")
}

fn named_first(pair: &Pair) -> Result<Held> {
    let [a, b] =
        [("a", &pair.run.a), ("b", &pair.run.b)].map(|(side, run)| record(pair, side, run));
    let (a, b) = (a?, b?);
    let output =
        Command::new(Build::ready()?.whyoom()).args(["diff", "--json"]).args([&a, &b]).output()?;
    for folder in [a, b] {
        fs::remove_dir_all(folder)?;
    }
    let error = || String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = from_slice(&output.stdout).with_context(error)?;
    let said: Said = serde_json::from_value(document)?;
    judge(&pair.truth, &said).with_context(|| format!("it says “{}”", said.answer))?;
    Ok(Held::new(said.answer).count("named first", 1))
}

fn record(pair: &Pair, side: &str, run: &Side) -> Result<PathBuf> {
    let python = text(&environment(&run.venv)?.join("bin/python"));
    let mut command = vec![python];
    if let Some(launcher) = &run.launcher {
        command.extend(launcher.split(' ').skip(1).map(str::to_owned));
    }
    command.push(text(&folder().join(&pair.name).join(&run.file)));
    command.extend(run.arguments.iter().cloned());
    let lab = ["--gpu".to_owned(), run.gpu.clone(), "--gpus".to_owned(), run.gpus.to_string()];
    let mut trial = Trial::on(&lab, &command);
    for (name, value) in &run.environment {
        trial = trial.with(name, value);
    }
    let recorded = trial.recorded_with(&format!("diff/{}-{side}", pair.name), &["--modules"])?;
    recorded.ran.succeeded()?;
    Ok(recorded.folder)
}

fn judge(truth: &Truth, said: &Said) -> Result<()> {
    if truth.is_nothing() {
        ensure!(said.ranks.iter().all(|rank| rank.unchanged), "something is said to have changed");
        return Ok(());
    }
    // The worst rank is the first.
    let rank = said.ranks.first().context("no rank")?;
    ensure!(!rank.unchanged, "nothing is said to have changed");
    let view = rank.same_phase.as_ref().map_or(&rank.peak, |same| &same.view);
    let first = view.explanations.first();
    if let Some(setting) = &truth.setting {
        let because = first.and_then(|first| first.because.as_deref()).unwrap_or_default();
        let settings = rank.settings.first().map_or("", |setting| setting.name.as_str());
        let word = setting.split(' ').next().unwrap_or(setting);
        // What a dtype is called in words.
        let named = |word: &str| because.contains(word) || said.answer.contains(word);
        if named(word) || settings == word || word == "dtype" && named("precision") {
            return Ok(());
        }
    }
    let first = first.context("nothing is named")?;
    let wrong: Vec<String> = truth
        .expected
        .iter()
        .filter_map(|item| item.differs(first).err())
        .map(|error| format!("{error:#}"))
        .collect();
    if wrong.len() < truth.expected.len() {
        return Ok(());
    }
    bail!("the first is not what changed: {}", wrong.join("; or "))
}
