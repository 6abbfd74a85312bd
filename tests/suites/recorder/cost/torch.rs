//! What is added to loops of PyTorch, against PyTorch's own history with all stacks.

use anyhow::{Result, ensure};
use harness::{Held, Trial, python, text, worst};
use serde::Deserialize;

use super::{Recording, medians};
use crate::recorder::programs_in_c::source;

/// The most that a loop may take, against the same loop with PyTorch's own history.
const BAR: f64 = 1.0;

/// Each loop as people would call it, with its steps.
const LOOPS: [(&str, &str, &str); 3] = [
    ("small tensors and nothing else", "churn", "400"),
    ("training, variable lengths", "lengths", "60"),
    ("training, empty_cache each step", "empty", "60"),
];

#[derive(Deserialize)]
struct Loop {
    /// The median.
    step_ns: f64,
    /// In a step.
    allocations: f64,
    #[expect(dead_code, reason = "for people")]
    total_ns: u64,
}

pub(super) fn measure() -> Result<Held> {
    println!(
        "{:<34} {:>9} {:>16} {:>16} {:>14}",
        "a step of PyTorch", "alone", "recorded", "its history", "an allocation"
    );
    let (mut ratios, mut shares) = (Vec::new(), Vec::new());
    for (name, which, steps) in LOOPS {
        let command = [python()?, text(&source("loops.py")), which.to_owned(), steps.to_owned()];
        let trial = Trial::new("8GiB", &command);
        let mut history = trial.clone();
        history.command.push("history".to_owned());
        let trials = [
            (trial.clone(), Recording::Off),
            (trial, Recording::On("all")),
            (history, Recording::Off),
        ];
        let taken = |figures: &Loop| [figures.step_ns, figures.allocations];
        let [[alone, recorded, history], [allocations, ..]] =
            medians("cost-torch", &trials, taken)?;
        let share = |step: f64| (step / alone - 1.0) * 100.0;
        println!(
            "{name:<34} {:>6.2} ms {:>+14.1} % {:>+14.1} % {:>+11.0} ns",
            alone / 1e6,
            share(recorded),
            share(history),
            (recorded - alone) / allocations
        );
        ratios.push(recorded / history);
        shares.push(format!("{:+.1} % on {which}", share(recorded)));
    }
    let (worst, shares) = (worst(&ratios)?, shares.join(", "));
    let said = format!(
        "with stacks {shares} and at most {worst:.2}x of PyTorch's history with stacks=\"all\" (at most {BAR:.1})"
    );
    ensure!(worst <= BAR, "{said}");
    Ok(Held::new(said))
}
