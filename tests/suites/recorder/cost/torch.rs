//! What is added to loops of PyTorch, in time, against PyTorch's own history with all stacks.

use anyhow::Result;
use harness::Held;
use serde::Deserialize;

use super::{
    Recording,
    loops::{LOOPS, Steps, judged},
    medians,
};

#[derive(Deserialize)]
struct Figures {
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
    let mut measured = Vec::new();
    for one in &LOOPS {
        let trial = one.trial("8GiB", 1)?;
        let mut history = trial.clone();
        history.command.push("history".to_owned());
        let trials = [
            (trial.clone(), Recording::Off),
            (trial, Recording::On("all")),
            (history, Recording::Off),
        ];
        let taken = |figures: &Figures| [figures.step_ns, figures.allocations];
        let [[alone, recorded, history], [allocations, ..]] =
            medians("cost-torch", &trials, taken)?;
        let steps = Steps { alone, recorded, history };
        println!(
            "{:<34} {:>6.2} ms {:>+14.1} % {:>+14.1} % {:>+11.0} ns",
            one.name,
            alone / 1e6,
            steps.share(recorded),
            steps.share(history),
            (recorded - alone) / allocations
        );
        measured.push((one, steps));
    }
    Ok(Held::new(judged(&measured, "time")?))
}
