//! The figures behind a verdict, and memory over time.

use std::io::{self, Write};

use whyoom_causes::{Basis, Evidence, Figure, Finding};
use whyoom_redact::terminal::{grouped, wrap};
use whyoom_trace::Bytes;

use super::{detail::Detail, wording::printable};
use crate::{
    Answer, chart,
    style::{self, styled},
};

/// Labels longer than this do not widen the table.
const LONGEST_LABEL: usize = 74;
/// What a row needs beside its label.
const FIGURE_AND_BASIS: usize = 26;
/// How much of a text is shown: two lines, or all that is of use.
const SHORT_TEXT: usize = 150;
const SHOWN_TEXT: usize = 300;
/// Rows beyond these are left to `--verbose`.
const LISTED: usize = 8;
/// What follows from the other figures, is told by the headline, or explains how a figure was found.
const DERIVED: [&str; 6] = [
    "in use by this process",
    "reserved but unallocated, usable",
    "iterations detected by",
    "at 95 % confidence",
    "after the program exited",
    "what keeps it",
];

/// What matters only where the cache is in pieces.
const OF_PIECES: [&str; 2] =
    ["fragmentation (free outside the largest block)", "largest free block"];

pub(super) fn write(
    answer: &Answer<'_>,
    detail: Detail,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let finding = &answer.verdict.primary;
    let rows = match detail {
        Detail::Short => shortened(finding),
        Detail::Verbose => finding.evidence.iter().collect(),
    };
    let over_time = match detail {
        Detail::Short => sparkline(answer, width),
        Detail::Verbose => None,
    };
    if rows.is_empty() && over_time.is_none() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(style::HEADING, format!("Evidence{}", sources(&rows))))?;
    write_rows(&rows, detail, width, out)?;
    if let Some(line) = over_time {
        writeln!(out, "  {line}")?;
    }
    if detail == Detail::Verbose { write_chart(answer, width, out) } else { Ok(()) }
}

/// The rows that tell most: what is not derived from others, and not nothing.
fn shortened(finding: &Finding) -> Vec<&Evidence> {
    let of_pieces = finding.cause == "fragmented-cache";
    let tells = |item: &&Evidence| {
        item.figure != Figure::Bytes(Bytes::ZERO)
            && !DERIVED.contains(&item.label.as_str())
            && (of_pieces || !OF_PIECES.contains(&item.label.as_str()))
    };
    let rows: Vec<&Evidence> = finding.evidence.iter().filter(tells).collect();
    // What every failure has comes first; of what this cause adds, the small amounts are left out.
    let (first, rest) = rows.split_at(rows.len().min(LISTED / 2));
    let mut amounts: Vec<Bytes> = rest.iter().filter_map(|item| amount(item)).collect();
    amounts.sort_unstable();
    let left_out = rest.len().saturating_sub(LISTED - first.len()).min(amounts.len());
    let least = amounts.get(left_out).copied().unwrap_or(Bytes(u64::MAX));
    let shown = rest.iter().filter(|item| amount(item).is_none_or(|bytes| bytes >= least));
    first.iter().chain(shown).take(LISTED).copied().collect()
}

fn amount(item: &Evidence) -> Option<Bytes> {
    match item.figure {
        Figure::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// Where the figures came from, said once.
fn sources(rows: &[&Evidence]) -> &'static str {
    let any = |basis: Basis| rows.iter().any(|item| item.basis == basis);
    match (any(Basis::Recorded), any(Basis::Message)) {
        (true, true) => " (recorded, and from the message)",
        (true, false) => " (recorded)",
        (false, true) => " (from the message)",
        (false, false) => "",
    }
}

fn write_rows(
    rows: &[&Evidence],
    detail: Detail,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let figures = rows.iter().filter(|item| !matches!(item.figure, Figure::Text(_)));
    let labels = figures.map(|item| item.label.chars().count());
    let longest = width.saturating_sub(FIGURE_AND_BASIS).min(LONGEST_LABEL);
    let label_width = labels.max().unwrap_or(0).min(longest);
    for item in rows {
        let label = printable(&item.label);
        let basis = match detail {
            Detail::Short => String::new(),
            Detail::Verbose => format!("  {}", styled(style::FAINT, item.basis.name())),
        };
        match &item.figure {
            Figure::Text(text) => {
                let most = if detail == Detail::Short { SHORT_TEXT } else { SHOWN_TEXT };
                let text = cut(text, most);
                writeln!(out, "{}", wrap(&format!("{label}: {text}"), width, "  "))?;
            }
            figure => writeln!(out, "  {label:<label_width$}  {:>12}{basis}", shown(figure))?,
        }
    }
    Ok(())
}

/// A text, or its beginning up to the end of a word.
fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let kept = &text[..end];
    let words = kept.rsplit_once(char::is_whitespace).map_or(kept, |(words, _)| words);
    format!("{words} …")
}

fn shown(figure: &Figure) -> String {
    match figure {
        Figure::Bytes(bytes) => bytes.to_string(),
        Figure::Count(count) => grouped(*count),
        Figure::Share(share) => format!("{:.1} %", share * 100.0),
        Figure::Text(text) => printable(text),
    }
}

/// Memory over time in one line.
fn sparkline(answer: &Answer<'_>, width: usize) -> Option<String> {
    let finding = &answer.verdict.primary;
    let space = answer.model.space(finding.process, finding.device)?;
    chart::allocated_over_time(space, width.saturating_sub(2))
}

fn write_chart(answer: &Answer<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let finding = &answer.verdict.primary;
    let Some(space) = answer.model.space(finding.process, finding.device) else { return Ok(()) };
    let lines = chart::memory_over_time(space, width);
    if lines.is_empty() {
        return Ok(());
    }
    let title = format!("Memory of {} over time", finding.device);
    writeln!(out, "\n{}", styled(style::HEADING, title))?;
    for line in lines {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}
