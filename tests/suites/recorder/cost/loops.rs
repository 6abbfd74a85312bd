//! The loops of PyTorch that recording is measured on, and what it may add to them.

use anyhow::{Result, ensure};
use harness::{Trial, python, text, worst};

use crate::recorder::programs_in_c::source;

/// The most that recording may add, of what PyTorch's own history with all stacks adds.
const OF_HISTORY: f64 = 0.25;

/// A loop.
pub(super) struct Loop {
    /// As people would call it.
    pub(super) name: &'static str,
    which: &'static str,
    steps: u32,
    /// The most that recording may add to a step, in percent of it.
    most: f64,
}

pub(super) const LOOPS: [Loop; 5] = [
    Loop { name: "small tensors and nothing else", which: "churn", steps: 400, most: 20.0 },
    Loop { name: "training, variable lengths", which: "lengths", steps: 60, most: 3.0 },
    Loop { name: "training, empty_cache each step", which: "empty", steps: 60, most: 3.0 },
    Loop { name: "decoding, a growing cache", which: "decode", steps: 40, most: 3.0 },
    Loop { name: "batches of a DataLoader", which: "loader", steps: 60, most: 3.0 },
];

/// A step by itself, recorded, and with PyTorch's history.
pub(super) struct Steps {
    pub(super) alone: f64,
    pub(super) recorded: f64,
    pub(super) history: f64,
}

impl Loop {
    /// The program, for so many steps of those that a clock needs.
    pub(super) fn trial(&self, memory: &str, of_steps: u32) -> Result<Trial> {
        let steps = (self.steps / of_steps).to_string();
        Ok(Trial::new(
            memory,
            &[python()?, text(&source("loops.py")), self.which.to_owned(), steps],
        ))
    }

    pub(super) fn steps(&self, of_steps: u32) -> u32 {
        self.steps / of_steps
    }
}

impl Steps {
    /// What is added, in percent.
    pub(super) fn share(&self, step: f64) -> f64 {
        (step / self.alone - 1.0) * 100.0
    }

    /// What recording adds of what the history adds.
    fn of_history(&self) -> f64 {
        (self.recorded - self.alone) / (self.history - self.alone)
    }
}

/// Judges all loops: of which kind the figures are is for people.
pub(super) fn judged(measured: &[(&Loop, Steps)], kind: &str) -> Result<String> {
    let shares = measured.iter().map(|(one, steps)| {
        format!("{:+.1} % on {} (at most {:.0})", steps.share(steps.recorded), one.which, one.most)
    });
    let shares = shares.collect::<Vec<_>>().join(", ");
    // Where the history adds nothing to speak of there is nothing to compare with.
    let compared = measured.iter().filter(|(_, steps)| steps.share(steps.history) > 5.0);
    let ratios: Vec<f64> = compared.map(|(_, steps)| steps.of_history()).collect();
    let ratio = worst(&ratios)?;
    let said = format!(
        "with stacks, in {kind}: {shares}; at most {ratio:.2} of what PyTorch's history with stacks=\"all\" adds (at most {OF_HISTORY})"
    );
    let too_much = |(one, steps): &(&Loop, Steps)| steps.share(steps.recorded) > one.most;
    ensure!(ratio <= OF_HISTORY && !measured.iter().any(too_much), "{said}");
    Ok(said)
}
