//! `cargo xtask score`: the examination of the explainer, added up. `tests/suites/score` runs and judges
//! every case of `tests/scenarios`.
//!
//! `--only NAME,…` and `--set SET` choose cases; `--bless` writes docs/dev/evidence/score.md, its picture, and
//! docs/dev/evidence/verdicts.md, one real answer for each cause.

mod figures;
mod matrix;
mod page;
mod row;
mod served;
mod table;
mod verdicts;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use clap::Args;
use harness::{
    Outcome, Report,
    score::{Case, SETS, Scored, all_cases},
};

use self::{
    figures::{Figures, summary},
    row::Row,
};
use crate::nextest::{self, Reuse};

/// The primary cause, and the bytes where they are known, must be right in so many cases; no other may be
/// missed without a mark in its table.
const ACCURACY_BAR: f64 = 0.95;
/// What the corpus must have, so that it stays one.
const CASES_BAR: usize = 385;
const HEALTHY_BAR: usize = 20;
const UNKNOWN_BAR: usize = 10;
const EACH_BAR: usize = 3;

/// What was asked for.
#[derive(Args)]
pub(crate) struct Wish {
    /// Cases by name
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Cases of one set
    #[arg(long)]
    set: Option<String>,
    /// Write score.md and verdicts.md in docs/dev/evidence
    #[arg(long)]
    bless: bool,
}

pub(crate) fn run(wish: &Wish) -> Result<()> {
    let filter = match (&wish.only[..], &wish.set) {
        ([], None) => "test(/^score::/)".to_owned(),
        ([], Some(set)) => format!("test(/^score::{set}::/)"),
        (names, _) => format!("test(/^score::[a-z]+::({})$/)", names.join("|")),
    };
    let reports = nextest::reports(&filter, &[], Reuse::Recordings)?;
    for name in &wish.only {
        let is_it = |report: &Report| report.name.rsplit("::").next() == Some(name);
        ensure!(reports.iter().any(is_it), "no case is called {name}");
    }
    end(&reports, wish.bless)
}

/// Adds the reports up.
pub(crate) fn end(reports: &[Report], bless: bool) -> Result<()> {
    let rows = rows(reports)?;
    table::print(&rows);
    if rows.len() == all_cases()?.len() {
        is_corpus(&rows)?;
        served::check(&rows)?;
        if bless {
            page::write(&rows)?;
            verdicts::write(&rows)?;
        }
    }
    hold_bars(&rows)?;
    print_recordings(reports, &rows);
    println!("score: {}", summary(&rows));
    Ok(())
}

/// Prints how many programs were recorded, how many recordings of an earlier run were judged again, and how many cases
/// were not judged at all because nothing has changed.
fn print_recordings(reports: &[Report], rows: &[Row]) {
    let reused_results = reports.iter().filter(|report| report.reused).count();
    let (mut recorded, mut reused) = (0, 0);
    for (report, row) in reports.iter().zip(rows) {
        if let (false, Some(scored)) = (report.reused, &row.scored) {
            recorded += scored.recorded;
            reused += scored.recordings_reused;
        }
    }
    println!(
        "cases judged: {}, results of an earlier run: {reused_results}; programs recorded: {recorded}, recordings \
         of an earlier run judged again: {reused}",
        reports.len() - reused_results
    );
}

fn rows(reports: &[Report]) -> Result<Vec<Row>> {
    let mut cases: BTreeMap<String, Case> = BTreeMap::new();
    for case in all_cases()? {
        cases.insert(format!("score::{}::{}", case.set, case.name), case);
    }
    let row = |report: &Report| {
        let case = cases.remove(&report.name).with_context(|| report.name.clone())?;
        let data = report.data.clone();
        let scored: Option<Scored> = data.map(serde_json::from_value).transpose()?;
        let failed = match &report.outcome {
            Outcome::Held(_) => None,
            Outcome::Failed { why } | Outcome::Skipped { why } => Some(why.clone()),
        };
        ensure!(scored.is_some() || failed.is_some(), "{} holds without an answer", case.name);
        Ok(Row { case, scored, failed, seconds: report.seconds })
    };
    reports.iter().map(row).collect()
}

/// The corpus is as large and as varied as it must be.
fn is_corpus(rows: &[Row]) -> Result<()> {
    let count = |cause: &str| rows.iter().filter(|row| row.case.cause == cause).count();
    ensure!(rows.len() >= CASES_BAR, "{} cases are too few", rows.len());
    ensure!(count("healthy") >= HEALTHY_BAR, "too few healthy runs");
    ensure!(count("unknown") >= UNKNOWN_BAR, "too few that cannot be told");
    for cause in whyoom_causes::CATALOGUE {
        ensure!(count(cause.id) >= EACH_BAR, "too few cases of {}", cause.id);
    }
    Ok(())
}

/// Every bar, of each set and of all.
fn hold_bars(rows: &[Row]) -> Result<()> {
    let failed: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("{}: {}", row.case.name, row.failed.as_ref()?)))
        .collect();
    ensure!(failed.is_empty(), "{} cases:\n  {}", failed.len(), failed.join("\n  "));
    for set in SETS {
        let figures = Figures::of(rows.iter().filter(|row| row.case.set == *set));
        if figures.cases > 0 {
            hold_bar(&figures).with_context(|| format!("the set {set}"))?;
        }
    }
    Ok(())
}

fn hold_bar(figures: &Figures) -> Result<()> {
    let accuracy = figures.accuracy();
    ensure!(accuracy >= ACCURACY_BAR, "the primary cause is right in {:.1} %", accuracy * 100.0);
    ensure!(figures.alarms == 0, "{} false alarms", figures.alarms);
    let (known, right) = figures.bytes;
    let enough = right as f64 >= known as f64 * ACCURACY_BAR;
    ensure!(enough, "the bytes are right in {right} of {known}");
    Ok(())
}
