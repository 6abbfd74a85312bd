//! What is added to loops of PyTorch, against PyTorch's own history with all stacks.

use anyhow::Result;

use super::{Figure, Recording, Stage, Trial, medians};
use crate::recorder::{
    stage::{python, source},
    trial::text,
};

/// The most that a loop may take, against the same loop with PyTorch's own history.
const BAR: f64 = 1.0;

/// Each loop as people would call it, with its steps.
const LOOPS: [(&str, &str, &str); 3] = [
    ("small tensors and nothing else", "churn", "400"),
    ("training, variable lengths", "lengths", "60"),
    ("training, empty_cache each step", "empty", "60"),
];

pub(super) fn measure(stage: &Stage) -> Result<Figure> {
    println!(
        "\n{:<34} {:>9} {:>16} {:>16} {:>14}",
        "a step of PyTorch", "alone", "recorded", "its history", "an allocation"
    );
    let (mut worst, mut shares) = (0.0_f64, Vec::new());
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
        let measured = medians(stage, &trials, &["step_ns", "allocations"])?;
        let ([alone, recorded, history], allocations) = (measured[0], measured[1][0]);
        let share = |step: f64| (step / alone - 1.0) * 100.0;
        println!(
            "{name:<34} {:>6.2} ms {:>+14.1} % {:>+14.1} % {:>+11.0} ns",
            alone / 1e6,
            share(recorded),
            share(history),
            (recorded - alone) / allocations
        );
        worst = worst.max(recorded / history);
        shares.push(format!("{:+.1} % on {which}", share(recorded)));
    }
    let said = format!(
        "with stacks {} and at most {worst:.2}x of PyTorch's history with stacks=\"all\" (at most {BAR:.1})",
        shares.join(", ")
    );
    Ok(Figure { said, holds: worst <= BAR })
}
