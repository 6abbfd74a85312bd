//! What it costs to know the module that is at work.

use anyhow::{Result, ensure};
use harness::{Check, Held, Trial, median, python, root, text};
use serde::Deserialize;

/// The most that a training step may take longer than when recorded without modules.
const BAR: f64 = 0.05;
/// Each is run so often, in turn with the other, so that both meet the same machine.
const ROUNDS: usize = 7;
/// The loops of the recorder's cost, and their steps. The first has no module.
const LOOPS: [(&str, &str); 3] = [("churn", "400"), ("lengths", "60"), ("empty", "60")];

#[derive(Deserialize)]
struct Loop {
    step_ns: f64,
    #[expect(dead_code, reason = "for people")]
    allocations: f64,
    #[expect(dead_code, reason = "for people")]
    total_ns: u64,
}

pub(super) fn checks() -> Vec<Check> {
    vec![Check::new("cost-modules", measure)]
}

fn measure() -> Result<Held> {
    println!("{:<10} {:>12} {:>12} {:>8}", "loop", "without", "modules", "more");
    let mut worst = f64::MIN;
    for (name, steps) in LOOPS {
        let program = root().join("tests/scenarios/recorder/loops.py");
        let command = [python()?, text(&program), name.to_owned(), steps.to_owned()];
        let trial = Trial::new("8GiB", &command);
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            without.push(step(&trial, &[])?);
            with.push(step(&trial, &["--modules"])?);
        }
        let (without, with) = (median(&without)?, median(&with)?);
        let more = with / without - 1.0;
        println!(
            "{name:<10} {:>9.2} ms {:>9.2} ms {:>+7.1} %",
            without / 1e6,
            with / 1e6,
            more * 100.0
        );
        worst = worst.max(more);
    }
    let said = format!("{:+.1} % of a step at most (bar {:.0} %)", worst * 100.0, BAR * 100.0);
    ensure!(worst <= BAR, "{said}");
    Ok(Held::new(said))
}

fn step(trial: &Trial, options: &[&str]) -> Result<f64> {
    let recorded = trial.recorded_with("diff/cost-modules", options)?;
    let figures: Loop = recorded.ran.figures()?;
    Ok(figures.step_ns)
}
