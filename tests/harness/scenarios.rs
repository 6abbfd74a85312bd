//! The programs of the unmodified PyTorch wheel that `tests/scenarios/torch/scenarios.json` lists.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    checkout::{root, text},
    environment::python,
    strict::from_slice,
    trial::{Ran, Trial},
};

const FOLDER: &str = "tests/scenarios/torch";

/// A script, the device that it runs on, and what it tells of its run.
#[derive(Debug, Clone, Deserialize)]
pub struct Scenario {
    /// In words.
    pub name: String,
    /// Its file.
    pub script: String,
    /// Its arguments; `{scratch}` is a folder.
    pub args: Vec<String>,
    /// How the simulated GPU is made.
    pub gpu: Vec<String>,
    /// What is added to the environment.
    pub env: BTreeMap<String, String>,
    /// All keys of the line that it prints, by name.
    pub figures: Vec<String>,
}

/// All of them.
pub fn scenarios() -> Result<Vec<Scenario>> {
    from_slice(&fs::read(root().join(FOLDER).join("scenarios.json"))?)
}

impl Scenario {
    /// What is to be run, with a folder for what it writes.
    pub fn trial(&self, scratch: &Path) -> Result<Trial> {
        let script = text(&root().join(FOLDER).join(&self.script));
        let arguments = self.args.iter().map(|word| word.replace("{scratch}", &text(scratch)));
        let command = [python()?, script].into_iter().chain(arguments).collect();
        let environment = self.env.clone().into_iter().collect();
        Ok(Trial { lab: self.gpu.clone(), command, environment, ..Trial::default() })
    }

    /// What it told: each key of [`Self::figures`], no other, and no null anywhere.
    pub fn told(&self, ran: &Ran) -> Result<BTreeMap<String, Value>> {
        let told: BTreeMap<String, Value> = ran.figures()?;
        let keys: BTreeSet<&String> = told.keys().collect();
        let known = !keys.is_empty() && keys == self.figures.iter().collect();
        ensure!(known, "it tells {keys:?} in place of {:?}", self.figures);
        let missing = told.iter().find(|(_, value)| has_null(value));
        ensure!(missing.is_none(), "a figure is null: {missing:?}");
        Ok(told)
    }
}

/// JSON has no other word for a number that is none: NaN is not JSON at all.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_null),
        Value::Object(values) => values.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
