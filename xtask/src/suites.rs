//! The suites of `tests/suites`, run by nextest two checks at a time, and added up.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use clap::Args;
use harness::{Outcome, Report};

use crate::{
    nextest::{Reuse, reports},
    score,
};

/// Parts that are asked for by name only: clocks that a shared machine does not tell, and the full size of
/// what the gate does in part (`deep-…`).
const BY_NAME: &str =
    "/::(deep-|zoo$|cost-driver$|cost-torch$|cost-instructions$|cost-modules$)|^pool::cost$/";

/// Checks that the gate leaves to `.ci/run deep`, besides those of [`BY_NAME`]: they need servers that a new machine has
/// to install (Slurm, Ray, Prometheus, S3, databases, a journal), or environments of several gigabytes.
const NOT_IN_GATE: &str = "/^fleet::(engines|logs|monitoring|otlp|replay|slurm|store)::|^stacks::/";

/// `cargo xtask suites`.
#[derive(Args)]
pub(crate) struct All {
    /// Everything that the gate leaves out: what needs servers, and the full size of what is shortened otherwise
    #[arg(long)]
    deep: bool,
    /// Write the pages of the score: score.md and verdicts.md in docs/dev/evidence
    #[arg(long, conflicts_with = "deep")]
    bless: bool,
}

/// `cargo xtask who`.
#[derive(Args)]
pub(crate) struct Who {
    /// The parts that are asked for
    parts: Vec<String>,
    /// Write docs/dev/evidence/who-peers.md
    #[arg(long)]
    bless: bool,
}

/// One suite, or parts of it.
pub(crate) fn run(suite: &str, parts: &[String]) -> Result<()> {
    let reports = reports(&filter(suite, parts), &[], Reuse::Recordings)?;
    each_was_run(suite, parts, &reports)?;
    end(suite, &reports)
}

/// The suite that writes a page.
pub(crate) fn who(wish: &Who) -> Result<()> {
    let bless = wish.bless.then_some(("WHYOOM_BLESS", "1"));
    let reports = reports(&filter("who", &wish.parts), bless.as_slice(), Reuse::Recordings)?;
    each_was_run("who", &wish.parts, &reports)?;
    end("who", &reports)
}

/// A part that is misspelt beside a right one must not go unnoticed.
fn each_was_run(suite: &str, parts: &[String], reports: &[Report]) -> Result<()> {
    for part in parts {
        let name = format!("{suite}::{part}");
        let is_it =
            |report: &Report| report.name == name || report.name.starts_with(&format!("{name}::"));
        ensure!(reports.iter().any(is_it), "no check is called {name}");
    }
    Ok(())
}

/// All of them, in one queue.
pub(crate) fn all(wish: &All) -> Result<()> {
    let filter = if wish.deep {
        format!("test(/::deep-/) or test({NOT_IN_GATE})")
    } else {
        format!("not test({BY_NAME}) and not test({NOT_IN_GATE})")
    };
    let reports = reports(&filter, &[], Reuse::ResultsAndRecordings)?;
    let mut failed = Vec::new();
    let mut by_suite: BTreeMap<&str, Vec<Report>> = BTreeMap::new();
    for report in &reports {
        by_suite.entry(report.place().0).or_default().push(report.clone());
    }
    for (suite, reports) in by_suite {
        println!("\n--- {suite}");
        let ended =
            if suite == "score" { score::end(&reports, wish.bless) } else { end(suite, &reports) };
        if let Err(error) = ended {
            println!("{suite}: FAILED: {error:#}");
            failed.push(suite);
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join(", "));
    let reused = reports.iter().filter(|report| report.reused).count();
    println!(
        "suites: {} checks, none failed; {reused} of them held in an earlier run with the same inputs and were \
         not run again",
        reports.len()
    );
    Ok(())
}

fn filter(suite: &str, parts: &[String]) -> String {
    if parts.is_empty() {
        return format!("test(/^{suite}::/) and not test({BY_NAME})");
    }
    format!("test(/^{suite}::({})(::|$)/)", parts.join("|"))
}

/// One part of a suite.
#[derive(Default)]
struct Part<'a> {
    reports: Vec<&'a Report>,
    counts: BTreeMap<&'a str, u64>,
    seconds: f64,
}

/// Prints a table of the parts, and last the figure of the whole.
pub(crate) fn end(suite: &str, reports: &[Report]) -> Result<()> {
    let mut parts: BTreeMap<&str, Part<'_>> = BTreeMap::new();
    for report in reports {
        let part = parts.entry(report.place().1).or_default();
        part.seconds += report.seconds;
        if let Outcome::Held(held) = &report.outcome {
            for (what, amount) in &held.counts {
                *part.counts.entry(what).or_default() += amount;
            }
        }
        part.reports.push(report);
    }
    println!("{:<18} {:>5} {:>7} {:>8} {:>8}", "part", "held", "failed", "skipped", "seconds");
    for (name, part) in &parts {
        let [held, failed, skipped] = tallied(&part.reports);
        println!(
            "{name:<18} {held:>5} {failed:>7} {skipped:>8} {:>8.0}  {}",
            part.seconds,
            figure(part)
        );
    }
    for report in reports {
        match &report.outcome {
            Outcome::Held(_) => {}
            Outcome::Failed { why } => println!("FAILED  {}: {why}", report.name),
            Outcome::Skipped { why } => println!("SKIPPED {}: {why}", report.name),
        }
    }
    let [held, failed, skipped] = tallied(&reports.iter().collect::<Vec<_>>());
    let mut line =
        format!("{held} checks held, {failed} failed, {skipped} skipped, on a simulated GPU");
    let reused = reports.iter().filter(|report| report.reused).count();
    if reused > 0 {
        line += &format!(" ({reused} results of an earlier run with the same inputs)");
    }
    if failed > 0 {
        bail!("{line}");
    }
    println!("{suite}: {line}");
    Ok(())
}

/// What a part came to: its own words where it is one check, else its sums.
fn figure(part: &Part<'_>) -> String {
    if let [Report { outcome: Outcome::Held(held), .. }] = part.reports[..] {
        return held.figure.clone();
    }
    let counts = part.counts.iter().map(|(what, amount)| format!("{amount} {what}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn tallied(reports: &[&Report]) -> [usize; 3] {
    let count = |is: fn(&Outcome) -> bool| reports.iter().filter(|one| is(&one.outcome)).count();
    [
        count(|outcome| matches!(outcome, Outcome::Held(_))),
        count(|outcome| matches!(outcome, Outcome::Failed { .. })),
        count(|outcome| matches!(outcome, Outcome::Skipped { .. })),
    ]
}

#[cfg(test)]
mod tests {
    use harness::Held;

    use super::*;

    #[test]
    fn a_misspelt_part_beside_a_right_one_is_noticed() {
        let outcome = Outcome::Held(Held::default());
        let name = "pool::programs::program01".to_owned();
        let reports = [Report { name, outcome, seconds: 1.0, data: None, reused: false }];
        let run = |parts: &[&str]| {
            let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
            each_was_run("pool", &parts, &reports)
        };
        assert!(run(&["programs"]).is_ok() && run(&["programs::program01"]).is_ok());
        assert!(run(&["programs", "steadi"]).is_err() && run(&["program"]).is_err());
    }
}
