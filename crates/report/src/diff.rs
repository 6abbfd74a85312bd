//! Two runs compared, as text and as JSON.

mod headline;
mod json;
mod tables;
mod words;

use std::io::{self, Write};

use whyoom_diff::{Comparison, Explanation, RankComparison, SettingChange, View};
use whyoom_redact::terminal::wrap;
use whyoom_trace::Bytes;

pub(crate) use self::headline::{clause, of_rank};
pub use self::{headline::diff_headline, json::write_diff_json};
use self::{
    tables::{breakdown, groups},
    words::{more_or_less, signed},
};
use crate::style::{self, styled};

/// Explanations that are listed.
const MOST_EXPLANATIONS: usize = 8;
/// Settings that are listed.
const MOST_SETTINGS: usize = 12;

/// A condition of `--fail-if`, and what came of it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct DiffCondition {
    /// As it was written.
    pub text: String,
    /// Whether it holds, which fails the command.
    pub holds: bool,
    /// The figure that it was decided by.
    pub found: String,
}

/// Writes a comparison for people, in lines of at most `width` where words allow it.
pub fn write_diff(
    comparison: &Comparison,
    conditions: &[DiffCondition],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let first = diff_headline(comparison);
    writeln!(out, "{}", styled(style::HEADLINE, wrap(&first, width, "")))?;
    writeln!(out, "\n  A  {}\n  B  {}", shown(&comparison.a), shown(&comparison.b))?;
    if let Some(worst) = comparison.ranks.first() {
        write_rank(worst, width, out)?;
    }
    write_other_ranks(comparison, width, out)?;
    for condition in conditions {
        let holds = if condition.holds { "holds" } else { "does not hold" };
        writeln!(out, "\nfail if {}: {holds} ({})", condition.text, condition.found)?;
    }
    Ok(())
}

fn shown(text: &str) -> String {
    wrap(text, usize::MAX, "")
}

fn write_rank(rank: &RankComparison, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let settings: Vec<&SettingChange> = rank.settings.iter().filter(|one| one.explains).collect();
    write_settings("\nWhat differs and explains it", &settings, width, out)?;
    write_explanations(rank, width, out)?;
    writeln!(out, "\n{}", styled(style::HEADING, "Memory at the peak"))?;
    for line in breakdown(rank).lines(width) {
        writeln!(out, "{line}")?;
    }
    if !rank.unchanged {
        write_groups(&rank.peak, width, out)?;
    }
    if let Some(steady) = &rank.steady {
        write_steady(rank, steady, width, out)?;
    }
    let others: Vec<&SettingChange> = rank.settings.iter().filter(|one| !one.explains).collect();
    write_settings("\nAlso different", &others, width, out)
}

fn write_groups(view: &View, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let tables = [
        ("By module", &view.by_module),
        ("By call site", &view.by_site),
        ("By phase", &view.by_phase),
    ];
    for (heading, rows) in tables {
        let lines = groups(rows).lines(width);
        if rows.iter().any(|row| row.bytes() != 0) {
            writeln!(out, "\n{}", styled(style::HEADING, heading))?;
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
    }
    Ok(())
}

fn write_steady(
    rank: &RankComparison,
    steady: &View,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let both = format!("{} in A, {} in B", Bytes(steady.a), Bytes(steady.b));
    let told = match steady.explanations.is_empty() {
        true => format!("In steady state nothing changed: {both}."),
        false => format!("In steady state: {both}, {}.", more_or_less(steady.bytes())),
    };
    writeln!(out, "\n{}", wrap(&told, width, ""))?;
    write_list(rank, &steady.explanations, width, out)
}

fn write_explanations(rank: &RankComparison, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let explanations = rank.explanations();
    if explanations.is_empty() {
        return Ok(());
    }
    let heading = match &rank.same_phase {
        Some(same) => format!(
            "At the peak of the same phase, {}: {} in A, {} in B",
            same.phase,
            Bytes(same.view.a),
            Bytes(same.view.b)
        ),
        None => "At the peak".to_owned(),
    };
    writeln!(out, "\n{}", styled(style::HEADING, heading))?;
    write_list(rank, explanations, width, out)
}

fn write_list(
    rank: &RankComparison,
    explanations: &[Explanation],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    for explanation in explanations.iter().take(MOST_EXPLANATIONS) {
        let first = format!("  {:>12}  ", signed(explanation.bytes));
        writeln!(out, "{}", wrap(&clause(explanation, rank), width, &first))?;
    }
    if let Some(left) = explanations.len().checked_sub(MOST_EXPLANATIONS).filter(|left| *left > 0) {
        writeln!(out, "  and {left} smaller differences (--json has all)")?;
    }
    Ok(())
}

fn write_settings(
    heading: &str,
    settings: &[&SettingChange],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    if settings.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", styled(style::HEADING, heading))?;
    for setting in settings.iter().take(MOST_SETTINGS) {
        let line = match (&setting.a, &setting.b) {
            (Some(a), Some(b)) => format!("{}: {a} in A, {b} in B", setting.name),
            (Some(a), None) => format!("{}: {a} in A only", setting.name),
            (_, b) => format!("{}: {} in B only", setting.name, b.as_deref().unwrap_or_default()),
        };
        writeln!(out, "{}", wrap(&line, width, "  "))?;
    }
    Ok(())
}

fn write_other_ranks(comparison: &Comparison, width: usize, out: &mut dyn Write) -> io::Result<()> {
    if comparison.ranks.len() > 1 {
        writeln!(out, "\n{}", styled(style::HEADING, "All ranks, the largest difference first"))?;
        for line in tables::ranks(&comparison.ranks).lines(width) {
            writeln!(out, "{line}")?;
        }
    }
    for (side, names) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        for name in names {
            writeln!(out, "{}", wrap(&format!("only in {side}: {name}"), width, ""))?;
        }
    }
    Ok(())
}
