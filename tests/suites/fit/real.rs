//! Programs whose allocations people recorded on real GPUs, run anew on the simulated one and
//! compared one by one: `tests/scenarios/real/runs.json` says what is run and what is known.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Result, ensure};
use harness::{
    Check, Held, Trial, documents::nullable, environment, from_slice, root, shared_data, text,
};
use serde::Deserialize;
use serde_json::Value;

/// A recording, and the program behind it.
#[derive(Deserialize)]
struct Recording {
    name: String,
    #[expect(dead_code, reason = "compare.py runs it")]
    program: String,
    #[expect(dead_code, reason = "compare.py runs it")]
    arguments: Value,
    /// Where, as far as the recording tells.
    recorded: String,
    /// The lab's flags: the GPU that it was recorded on.
    gpu: Vec<String>,
    under: Vec<Under>,
}

/// A version of PyTorch that the program is run under.
#[derive(Deserialize)]
struct Under {
    /// The name of the Python environment.
    environment: String,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    /// What is known, no less and no more.
    agreement: Agreement,
    /// The reason why it is no better.
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
#[derive(Debug, Deserialize)]
struct Figures {
    name: String,
    torch: String,
    agreement: Agreement,
    allocations_real: u64,
    allocations_ours: u64,
    allocations_in_order: u64,
    workspaces_set_aside: u64,
    events_equal: bool,
    peak_allocated_real: u64,
    peak_allocated_ours: u64,
    peak_reserved_real: u64,
    peak_reserved_ours: u64,
    #[serde(deserialize_with = "nullable")]
    first_difference: Option<Value>,
}

pub(super) fn checks() -> Result<Vec<Check>> {
    let list = std::fs::read(root().join("tests/scenarios/real/runs.json"))?;
    let mut checks = Vec::new();
    for recording in from_slice::<Vec<Recording>>(&list)? {
        let recording = Arc::new(recording);
        for (index, under) in recording.under.iter().enumerate() {
            let set = if under.settings.is_empty() { "" } else { "-with-settings" };
            let name = format!("real::{}::{}{set}", recording.name, under.environment);
            let recording = Arc::clone(&recording);
            checks.push(Check::new(name, move || run(&recording, &recording.under[index])));
        }
    }
    Ok(checks)
}

fn run(recording: &Recording, under: &Under) -> Result<Held> {
    let snapshot = format!("torch-snapshots/{}.pickle", recording.name);
    let snapshot = shared_data()?.join(snapshot);
    let python = environment(&under.environment)?.join("bin/python");
    let script = root().join("tests/scenarios/real/compare.py");
    let command = [text(&python), text(&script), recording.name.clone(), text(&snapshot)];
    let mut trial = Trial::on(&recording.gpu, &command);
    trial.environment = under.settings.clone().into_iter().collect();
    let figures: Figures = trial.plain()?.figures()?;
    ensure!(figures.name == recording.name && figures.allocations_real > 0, "{figures:?}");
    ensure!(figures.agreement == figures.shown(), "its own figures say otherwise: {figures:?}");
    let known = under.agreement;
    ensure!(figures.agreement >= known, "it agreed before, and does not now: {figures:?}");
    ensure!(figures.agreement <= known, "now better: update runs.json: {figures:?}");
    ensure!(known == Agreement::Bytes || !under.why.is_empty(), "runs.json does not say why");
    let equal = u64::from(known == Agreement::Bytes);
    let figure = format!("{}; recorded by {}", figures.told(&under.why), recording.recorded);
    Ok(Held::new(figure).count("runs", 1).count("equal to the byte", equal))
}

impl Figures {
    /// How far they agree, from the figures themselves.
    fn shown(&self) -> Agreement {
        let all = self.allocations_real;
        let in_order = self.allocations_ours == all && self.allocations_in_order == all;
        if !in_order || self.peak_allocated_real != self.peak_allocated_ours {
            return Agreement::Differs;
        }
        match self.peak_reserved_real == self.peak_reserved_ours {
            true => Agreement::Bytes,
            false => Agreement::Allocations,
        }
    }

    fn told(&self, why: &str) -> String {
        let aside = self.workspaces_set_aside;
        let events = match (self.events_equal, &self.first_difference) {
            (true, _) => "all events equal".to_owned(),
            (false, None) => "events at other places".to_owned(),
            (false, Some(difference)) => format!("first difference {difference}"),
        };
        format!(
            "torch {}, {}/{} in order, {aside} workspaces set aside; allocated {}, ours {}; reserved {}, \
             ours {}; {events}; {why}",
            self.torch,
            self.allocations_in_order,
            self.allocations_real,
            self.peak_allocated_real,
            self.peak_allocated_ours,
            self.peak_reserved_real,
            self.peak_reserved_ours,
        )
    }
}
