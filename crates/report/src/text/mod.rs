//! The verdict as people read it, in the shape of a compiler's diagnostics: the cause and its number, the person's own
//! lines, the fix, notes; then the evidence.

mod detail;
mod evidence;
mod fixes;
mod notes;
mod wording;

use std::io::{self, Write};

use whyoom_causes::CallSite;
use whyoom_redact::terminal::wrap;

pub use detail::Detail;
pub(crate) use wording::printable;
use wording::{in_words, shown_width};

use crate::{
    Answer, CaughtFailures,
    documentation::documentation,
    live::Live,
    modules,
    style::{self, styled},
};

/// Call sites beyond these are left to `--verbose`.
const LISTED_SITES: usize = 3;
/// Modules beyond these are left to `--verbose`, and there to the report.
const LISTED_MODULES: usize = 4;
const ALL_MODULES: usize = 32;
/// What stands before a call site.
const ARROW: &str = "  --> ";

/// Writes a verdict for people, with colours, in lines of at most `width` where words allow it.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_verdict(
    answer: &Answer<'_>,
    detail: Detail,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let finding = &answer.verdict.primary;
    write_headline(answer, width, out)?;
    write_call_sites(&finding.call_sites, detail, width, out)?;
    fixes::write(finding, detail, width, out)?;
    notes::write(answer, detail, width, out)?;
    evidence::write(answer, detail, width, out)?;
    write_modules(answer, detail, out)?;
    write_documentation(answer, out)
}

/// The modules of the model that hold most, where anything is wrong or all is asked for.
fn write_modules(answer: &Answer<'_>, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let most = match detail {
        Detail::Short if answer.verdict.primary.cause == "healthy" => return Ok(()),
        Detail::Short => LISTED_MODULES,
        Detail::Verbose => ALL_MODULES,
    };
    let Some(live) = Live::at_worst(answer) else { return Ok(()) };
    modules::write(answer.tables, (&live.moment, &live.sums), most, out)
}

/// Where more is written about the cause.
fn write_documentation(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let cause = answer.verdict.primary.cause;
    if cause == "healthy" {
        return Ok(());
    }
    let about = format!("About this cause: {}", documentation(cause));
    writeln!(out, "\n{}", styled(style::FAINT, about))
}

/// Writes the command that prints what the short form leaves out, if it leaves out anything.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_verbose_hint(
    answer: &Answer<'_>,
    command: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let finding = &answer.verdict.primary;
    if finding.evidence.is_empty() {
        return Ok(());
    }
    let hint = format!("All figures and remedies: {}", printable(command));
    let blank = if finding.cause == "healthy" { "\n" } else { "" };
    writeln!(out, "{blank}{}", styled(style::FAINT, hint))
}

/// Writes that the program survived its failures, and their cause as a note.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_caught(
    answer: &Answer<'_>,
    caught: CaughtFailures,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let finding = &answer.verdict.primary;
    let (ok, text) = (styled(style::OK, "ok"), caught.text());
    writeln!(out, "{ok}{}", styled(style::HEADLINE, wrap(&format!(": {text}"), width, "")))?;
    let note = format!("note[{}]", finding.cause);
    let line = wrap(&format!("{note}: {}", finding.headline), width, "      ");
    let line = line.trim_start();
    let headline = line.strip_prefix(note.as_str()).unwrap_or(line);
    writeln!(out, "{}{headline}", styled(style::NOTE, &note))
}

/// The first line is the answer: how bad it is, the cause, and what is true.
fn write_headline(answer: &Answer<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    if let Some(caught) = answer.caught {
        return write_caught(answer, caught, width, out);
    }
    let finding = &answer.verdict.primary;
    let level = level(answer);
    let line = wrap(&format!("{level}: {}", finding.headline), width, "");
    let headline = line.strip_prefix(level.as_str()).unwrap_or(&line);
    let level = styled(style::cause(finding), level);
    writeln!(out, "{level}{}", styled(style::HEADLINE, headline))
}

/// As a compiler says it: something failed, something is wrong though nothing failed, or nothing is.
fn level(answer: &Answer<'_>) -> String {
    let (cause, model) = (answer.verdict.primary.cause, answer.model);
    let failed = model.incidents_seen() > 0
        || model.processes().any(|(_, process)| process.failures_seen() > 0);
    match (cause, failed) {
        ("healthy", _) => "ok".to_owned(),
        (_, true) => format!("error[{cause}]"),
        ("unknown", false) => format!("note[{cause}]"),
        (_, false) => format!("warning[{cause}]"),
    }
}

/// The person's own lines, and what each has to do with it.
fn write_call_sites(
    call_sites: &[CallSite],
    detail: Detail,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = if detail == Detail::Short { LISTED_SITES } else { usize::MAX };
    // The request that failed is the last, and is never left out.
    let (before, last) = call_sites.split_at(call_sites.len().saturating_sub(1));
    let shown: Vec<&CallSite> = before.iter().take(most - 1).chain(last).collect();
    let longest = shown.iter().map(|site| shown_width(&site.call_site)).max().unwrap_or(0);
    for site in shown {
        let (at, what) = (in_words(&site.call_site), printable(&site.what));
        let arrow = styled(style::ARROW, ARROW.trim_end());
        let together = ARROW.len() + longest + 2 + what.chars().count();
        if together <= width {
            let pad = " ".repeat(longest - at.chars().count());
            writeln!(out, "{arrow} {at}{pad}  {}", styled(style::FAINT, what))?;
        } else {
            let what = wrap(&what, width, &" ".repeat(ARROW.len()));
            writeln!(out, "{arrow} {at}\n{}", styled(style::FAINT, what))?;
        }
    }
    Ok(())
}
