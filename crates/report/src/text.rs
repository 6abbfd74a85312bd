//! The verdict as people read it: the answer, the number that shows it, the line to paste; then the
//! evidence.

use std::io::{self, Write};

use whyoom_causes::{Evidence, Figure, Finding, Level, Proof, Remedy};
use whyoom_redact::visible;

use crate::{
    Answer, chart,
    style::{self, styled},
};

/// Remedies and ranks beyond these are left to `--json`.
const LISTED: usize = 8;
/// Labels longer than this do not widen the table.
const LONGEST_LABEL: usize = 74;
/// What a row of evidence needs beside its label.
const FIGURE_AND_BASIS: usize = 26;
/// How much of a message is shown.
const SHOWN_TEXT: usize = 300;

/// Writes a verdict for people, with colours, in lines of at most `width` where words allow it.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_verdict(answer: &Answer<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let finding = &answer.verdict.primary;
    write_answer(finding, width, out)?;
    writeln!(out, "{}", wrap(&finding.because, width, ""))?;
    write_alternatives(answer, width, out)?;
    write_whose(answer, width, out)?;
    write_remedies(&finding.remedies, width, out)?;
    write_evidence(&finding.evidence, width, out)?;
    write_chart(answer, width, out)?;
    write_contributing(answer, width, out)?;
    write_processes(answer, out)?;
    for input in answer.inputs {
        for note in &input.notes {
            writeln!(out, "\n{}", wrap(&format!("Note: {}: {note}", input.name), width, ""))?;
        }
    }
    let more = format!("In general: whyoom causes {}", finding.cause);
    writeln!(out, "\n{}", styled(style::FAINT, more))
}

/// The first line is the answer: the cause, and what is true.
fn write_answer(finding: &Finding, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let answer = wrap(&format!("{}: {}", finding.cause, finding.headline), width, "");
    let headline = &answer[finding.cause.len()..];
    let cause = styled(style::cause(finding), finding.cause);
    writeln!(out, "{cause}{}", styled(style::HEADLINE, headline))
}

/// The other cause, where the printed figures do not tell them apart.
fn write_alternatives(answer: &Answer<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    for cause in &answer.verdict.alternatives {
        let line = format!(
            "Or {}: {}. The figures are rounded, and 1 % decides between the two; a recording \
             (whyoom run) tells them apart.",
            cause.id, cause.title
        );
        writeln!(out, "{}", wrap(&line, width, ""))?;
    }
    Ok(())
}

/// Of several processes, the one that the answer is told of.
fn write_whose(answer: &Answer<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let (judged, finding) = (&answer.verdict.by_process, &answer.verdict.primary);
    if judged.len() < 2 {
        return Ok(());
    }
    let same = judged.iter().filter(|(_, _, cause)| *cause == finding.cause).count();
    let line = format!(
        "The figures are of {}; the cause is the same for {same} of {}.",
        whose(answer, finding),
        judged.len()
    );
    writeln!(out, "{}", wrap(&line, width, ""))
}

/// The process and device of a finding.
fn whose(answer: &Answer<'_>, finding: &Finding) -> String {
    format!("{}, {}", answer.tables.process_name(finding.process), finding.device)
}

fn write_remedies(remedies: &[Remedy], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for remedy in remedies.iter().take(LISTED) {
        let frees = remedy.frees.map_or(String::new(), |frees| format!(" [up to {frees}]"));
        let what = format!("{}{}{frees}", remedy.what, proof(remedy));
        let paste = remedy.paste.as_deref().unwrap_or_default();
        let mut lines = paste.lines().map(|line| styled(style::PASTE, printable(line)));
        writeln!(out)?;
        match (paste.lines().count(), lines.next()) {
            (1, Some(line)) => writeln!(out, "  {line}\n{}", wrap(&what, width, "      "))?,
            // Words below a piece of code would be pasted with it.
            (_, Some(first)) => {
                writeln!(out, "{}", wrap(&format!("{what}:"), width, "  - "))?;
                writeln!(out, "\n  {first}")?;
                lines.try_for_each(|line| writeln!(out, "  {line}"))?;
            }
            (_, None) => writeln!(out, "{}", wrap(&what, width, "  - "))?,
        }
    }
    Ok(())
}

/// What a replay of the run says of a remedy that a replay can prove.
fn proof(remedy: &Remedy) -> String {
    match (remedy.setting, remedy.proof) {
        (_, Some(Proof { peak, capacity, level: Level::WholeIterations(count) })) => format!(
            "; proved by replaying {count} whole iterations of this run: at most {peak} of {capacity}"
        ),
        (_, Some(Proof { level: Level::Ran, .. })) => {
            "; proved: --apply ran the program with it, and it succeeded".to_owned()
        }
        (_, Some(Proof { peak, capacity, level: Level::ThisRequest })) => format!(
            "; a replay passes this request (at most {peak} of {capacity}); that whole iterations fit is not \
             proved"
        ),
        (Some(_), None) => " (not proved on this run)".to_owned(),
        (None, None) => String::new(),
    }
}

fn write_evidence(evidence: &[Evidence], width: usize, out: &mut dyn Write) -> io::Result<()> {
    if evidence.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(style::HEADING, "Evidence"))?;
    let figures = evidence.iter().filter(|item| !matches!(item.figure, Figure::Text(_)));
    let labels = figures.map(|item| item.label.chars().count());
    let longest = width.saturating_sub(FIGURE_AND_BASIS).min(LONGEST_LABEL);
    let label_width = labels.max().unwrap_or(0).min(longest);
    for item in evidence {
        let basis = styled(style::FAINT, item.basis.name());
        let label = printable(&item.label);
        match &item.figure {
            Figure::Text(text) => {
                let text: String = text.chars().take(SHOWN_TEXT).collect();
                writeln!(out, "{}", wrap(&format!("{label}: {text}"), width, "  "))?;
            }
            figure => writeln!(out, "  {label:<label_width$}  {:>12}  {basis}", shown(figure))?,
        }
    }
    Ok(())
}

fn shown(figure: &Figure) -> String {
    match figure {
        Figure::Bytes(bytes) => bytes.to_string(),
        Figure::Count(count) => grouped(*count),
        Figure::Share(share) => format!("{:.1} %", share * 100.0),
        Figure::Text(text) => printable(text),
    }
}

/// A count with its thousands apart: 1,234,567.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
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

fn write_contributing(answer: &Answer<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let (primary, findings) = (&answer.verdict.primary, &answer.verdict.contributing);
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(style::HEADING, "Also true"))?;
    for finding in findings {
        let elsewhere = (finding.process, finding.device) != (primary.process, primary.device);
        let whose =
            if elsewhere { format!(" ({})", whose(answer, finding)) } else { String::new() };
        let line = format!("{}: {}{whose}", finding.cause, finding.headline);
        writeln!(out, "{}", wrap(&line, width, "  "))?;
    }
    Ok(())
}

/// Who was judged how, where there are several.
fn write_processes(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let judged = &answer.verdict.by_process;
    if judged.len() < 2 {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(style::HEADING, "By process"))?;
    for (process, device, cause) in judged.iter().take(LISTED) {
        let name = answer.tables.process_name(*process);
        writeln!(out, "  {}, {device}: {cause}", printable(name))?;
    }
    if judged.len() > LISTED {
        writeln!(out, "  … and {} more (all of them: --json)", judged.len() - LISTED)?;
    }
    Ok(())
}

/// Text from a file as it may go to a terminal: without the characters that steer one.
pub(crate) fn printable(text: &str) -> String {
    visible(text).into_owned()
}

/// Wraps words, with `first` before the first line and as many blanks before the others. An amount
/// stays in one line with its unit.
pub(crate) fn wrap(text: &str, width: usize, first: &str) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut text = printable(text);
    for unit in UNITS {
        text = text.replace(&format!(" {unit}"), &format!("\u{a0}{unit}"));
    }
    let rest = " ".repeat(first.chars().count());
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(&rest)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(&text, options).replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
