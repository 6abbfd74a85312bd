//! Training loops that leak in the ways that people know: growth, named with their own source line.

use anyhow::{Context, Result, ensure};
use harness::{Check, Held, Trial, python, text};

use super::programs_in_c::source;

const LOOPS: &[&str] = &["sum_of_losses", "kept_frames", "kept_logits"];

/// Stands behind the line that the verdict must name.
const MARK: &str = "# what grows";

pub(super) fn checks() -> Vec<Check> {
    LOOPS.iter().map(|name| Check::new(format!("growth::{name}"), || named(name))).collect()
}

fn named(name: &str) -> Result<Held> {
    let path = source(&format!("{name}.py"));
    let lines = std::fs::read_to_string(&path)?;
    let line =
        lines.lines().position(|line| line.ends_with(MARK)).context("no line is marked")? + 1;
    let trial = Trial::new("2GiB", &[python()?, text(&path)]);
    let plain = trial.plain()?;
    let recorded = trial.recorded(&format!("recorder/{name}"))?;
    recorded.ran.like(&plain)?;
    let why = recorded.verdict()?;
    why.has_cause("growth")?;
    let (said, place) = (&why.verdict, format!("{name}.py:{line}"));
    let first = said.call_sites.first().context("no line is named")?;
    ensure!(first.call_site.contains(&format!("{place} ")), "{place} is not named: {first:?}");
    Ok(Held::new(format!("{place}: {}", said.headline)))
}
