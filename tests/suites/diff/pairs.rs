//! `whyoom diff` on pairs of runs with one planted difference each (tests/scenarios/diff): it is named first.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Check, Held, Trial, environment, from_slice, from_str, root, text};
use serde::Deserialize;
use serde_json::Value;

use super::truth::{Named, Truth};

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

/// A check for each pair, all in one part.
pub(super) fn checks() -> Result<Vec<Check>> {
    let pairs: Vec<Pair> = from_str(&fs::read_to_string(folder().join("pairs.json"))?)?;
    let check = |pair: Pair| {
        Check::new(format!("pairs::{}", pair.name), move || {
            named_first(&pair).with_context(|| pair.name.clone())
        })
    };
    Ok(pairs.into_iter().map(check).collect())
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
    let recorded = trial.recorded(&format!("diff/{}-{side}", pair.name))?;
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
        if because.contains(word) || settings == word || said.answer.contains(word) {
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
