//! Training loops that leak in the ways that people know: growth, named with their own source line.

use anyhow::{Context, Result, ensure};

use super::{
    stage::{Stage, python, source},
    tally::Tally,
    trial::{Trial, text},
};

const LOOPS: &[&str] = &["sum_of_losses.py", "kept_frames.py", "kept_logits.py"];

/// Stands behind the line that the verdict must name.
const MARK: &str = "# what grows";

pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut tally = Tally::default();
    for script in LOOPS {
        tally.case(script, || named(stage, script));
    }
    let held = tally.all()?;
    Ok(format!("{held} leaking loops named with the line that leaks"))
}

fn named(stage: &Stage, script: &str) -> Result<String> {
    let path = source(script);
    let lines = std::fs::read_to_string(&path)?;
    let line =
        lines.lines().position(|line| line.ends_with(MARK)).context("no line is marked")? + 1;
    let trial = Trial::new("2GiB", &[python()?, text(&path)]);
    let plain = trial.plain(stage)?;
    let recorded = trial.recorded(stage, script.trim_end_matches(".py"))?;
    recorded.ran.like(&plain)?;
    let verdict = recorded.verdict(stage)?;
    let said = &verdict["verdict"];
    ensure!(said["cause"] == "growth", "{}: {}", said["cause"], said["headline"]);
    let place = format!("{script}:{line}");
    ensure!(said.to_string().contains(&place), "{place} is not named: {said:#}");
    Ok(format!("{place}: {}", said["headline"].as_str().unwrap_or_default()))
}
