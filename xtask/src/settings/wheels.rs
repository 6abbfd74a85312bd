//! PyTorch's own answer: its unmodified wheels in the lab.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, empty_folder, environment, root};
use serde::Deserialize;
use serde_json::Value;
use whyoom_allocators::policies::pytorch::{AllocatorConf, Release, doubtful_keys};

use super::{command::succeeds, counted::Counted};

/// The environments of the suites that hold a PyTorch.
const ENVIRONMENTS: &[&str] = &["torch-2.6", "torch"];

/// Options that are the default: they change nothing by themselves.
const DEFAULTS: &[&str] = &["backend:native", "expandable_segments:False"];

/// A PyTorch that can be run.
pub(crate) struct Wheel {
    python: PathBuf,
    /// Its version, as it names itself.
    pub(crate) version: String,
}

/// PyTorch's answer to one value of its variable.
#[derive(Deserialize)]
pub(crate) struct Answer {
    /// True if PyTorch took the value, and the program went on.
    pub(crate) accepted: bool,
    /// The differences from a run without the value. Empty if it was refused.
    #[serde(default)]
    pub(crate) effect: BTreeMap<String, Value>,
    /// PyTorch's error.
    #[serde(default)]
    pub(crate) error: String,
}

#[derive(Deserialize)]
struct Answers {
    #[serde(default)]
    values: BTreeMap<String, Answer>,
}

impl Wheel {
    /// Returns those of the suites, and those of other interpreters.
    pub(crate) fn all(others: &[PathBuf]) -> Result<Vec<Self>> {
        let mut wheels = Vec::new();
        for name in ENVIRONMENTS {
            wheels.push(Self::of(environment(name)?.join("bin/python"))?);
        }
        for python in others {
            wheels.push(Self::of(python.clone())?);
        }
        Ok(wheels)
    }

    fn of(python: PathBuf) -> Result<Self> {
        // Without torch itself, which needs a driver.
        let program = "import importlib.metadata as m; print(m.version(\"torch\"))";
        let output = Command::new(&python).args(["-c", program]).output();
        let output = output.with_context(|| python.display().to_string())?;
        let version = String::from_utf8(output.stdout)?.trim().to_owned();
        ensure!(output.status.success(), "{} has no PyTorch", python.display());
        Ok(Self { python, version })
    }

    /// Returns its release. `None` if it is a build from a branch.
    pub(crate) fn release(&self) -> Option<Release> {
        Release::parse(&self.version)
    }

    /// Runs statements, one after another, behind the first use of the GPU.
    pub(crate) fn runs(&self, statements: &[String]) -> Result<()> {
        let start = "import torch; torch.zeros(1, device='cuda')";
        let program = format!("{start}\n{}", statements.join("\n"));
        let mut command = Command::new(Build::ready()?.whyoom());
        command.args(["lab", "run", "--memory", "8GiB", "--"]).arg(&self.python);
        succeeds(command.args(["-c", &program]))
    }

    /// Starts PyTorch once with each value.
    pub(crate) fn ask(&self, values: &BTreeSet<String>) -> Result<BTreeMap<String, Answer>> {
        let file = empty_folder("settings")?.join("values.json");
        fs::write(&file, serde_json::to_vec(values)?)?;
        let answers = probe(&self.python, &file)?;
        for value in values {
            ensure!(answers.contains_key(value), "{}: no answer to {value}", self.version);
        }
        Ok(answers)
    }
}

fn probe(python: &Path, values: &Path) -> Result<BTreeMap<String, Answer>> {
    let output = Command::new("python3")
        .arg(root().join("xtask/python/settings/probe.py"))
        .arg("--lab")
        .arg(Build::ready()?.whyoom())
        .arg("--python")
        .arg(python)
        .args(["--jobs", "2", "--values"])
        .arg(values)
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "probe.py failed: {errors}");
    let answers: Answers = serde_json::from_slice(&output.stdout)?;
    Ok(answers.values)
}

/// Runs every option on every wheel: PyTorch takes what the table says that it takes, and it has an effect.
pub(crate) fn compare(wheels: &[Wheel], options: &BTreeSet<String>) -> Result<Counted> {
    let mut counted = Counted { compared: 0, wrong: Vec::new() };
    println!("\n{:<40} {:<16} {:<9} in effect", "option", "PyTorch", "accepted");
    for wheel in wheels {
        for (option, answer) in wheel.ask(options)? {
            counted.compared += 1;
            let has_effect = !answer.effect.is_empty();
            println!(
                "{option:<40} {:<16} {:<9} {}",
                wheel.version,
                word(answer.accepted),
                if DEFAULTS.contains(&option.as_str()) { "default" } else { word(has_effect) }
            );
            let conf = AllocatorConf::parse(&option)?;
            let expected = doubtful_keys(wheel.release(), &conf).is_empty();
            if answer.accepted != expected {
                let error = answer.error;
                counted
                    .wrong
                    .push(format!("{option}, {}: expected otherwise; {error}", wheel.version));
            } else if answer.accepted && !has_effect && !DEFAULTS.contains(&option.as_str()) {
                counted.wrong.push(format!("{option}, {}: no effect was seen", wheel.version));
            }
        }
    }
    Ok(counted)
}

/// Returns the word of a table for a flag.
pub(crate) fn word(is_true: bool) -> &'static str {
    if is_true { "yes" } else { "no" }
}
