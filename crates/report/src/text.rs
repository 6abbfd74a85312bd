//! The verdict as people read it: the answer, the number that shows it, the line to paste; then the
//! evidence.

use std::io::{self, Write};

use whyoom_causes::{Evidence, Figure, Finding, Remedy};

use crate::{
    Answer, chart,
    style::{self, styled},
};

/// Remedies and ranks beyond these are left to `--json`.
const LISTED: usize = 8;

/// Writes a verdict for people, with colours, in lines of at most `width` where words allow it.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_verdict(answer: &Answer<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let finding = &answer.verdict.primary;
    write_answer(finding, width, out)?;
    writeln!(out, "{}", wrap(&finding.because, width, ""))?;
    write_remedies(&finding.remedies, width, out)?;
    write_evidence(&finding.evidence, out)?;
    write_chart(answer, width, out)?;
    write_contributing(&answer.verdict.contributing, width, out)?;
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

fn write_remedies(remedies: &[Remedy], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for remedy in remedies.iter().take(LISTED) {
        writeln!(out)?;
        let indent = match &remedy.paste {
            Some(paste) => {
                for line in paste.lines() {
                    writeln!(out, "  {}", styled(style::PASTE, line))?;
                }
                "      "
            }
            None => "  - ",
        };
        let frees = remedy.frees.map_or(String::new(), |frees| format!(" [up to {frees}]"));
        let text = format!("{}{frees}", remedy.what);
        writeln!(out, "{}", wrap(&text, width, indent))?;
    }
    Ok(())
}

fn write_evidence(evidence: &[Evidence], out: &mut dyn Write) -> io::Result<()> {
    if evidence.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(style::HEADING, "Evidence"))?;
    let label_width = evidence.iter().map(|e| e.label.chars().count()).max().unwrap_or(0).min(60);
    for item in evidence {
        let basis = styled(style::FAINT, item.basis.name());
        match &item.figure {
            Figure::Text(text) if text.chars().count() > 30 => {
                writeln!(out, "  {:<label_width$}  {basis}", item.label)?;
                writeln!(out, "    {text}")?;
            }
            figure => {
                writeln!(out, "  {:<label_width$}  {:>12}  {basis}", item.label, shown(figure))?;
            }
        }
    }
    Ok(())
}

fn shown(figure: &Figure) -> String {
    match figure {
        Figure::Bytes(bytes) => bytes.to_string(),
        Figure::Count(count) => grouped(*count),
        Figure::Share(share) => format!("{:.1} %", share * 100.0),
        Figure::Text(text) => text.clone(),
    }
}

/// A count with its thousands apart: 1,234,567.
fn grouped(count: u64) -> String {
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

fn write_contributing(findings: &[Finding], width: usize, out: &mut dyn Write) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(style::HEADING, "Also true"))?;
    for finding in findings {
        let line = format!("{}: {}", finding.cause, finding.headline);
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
        writeln!(out, "  {name}, {device}: {cause}")?;
    }
    if judged.len() > LISTED {
        writeln!(out, "  … and {} more (all of them: --json)", judged.len() - LISTED)?;
    }
    Ok(())
}

/// Wraps words, with `first` before the first line and as many blanks before the others. An amount
/// stays in one line with its unit.
fn wrap(text: &str, width: usize, first: &str) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut text = text.to_owned();
    for unit in UNITS {
        text = text.replace(&format!(" {unit}"), &format!("\u{a0}{unit}"));
    }
    let rest = " ".repeat(first.chars().count());
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(&rest)
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
