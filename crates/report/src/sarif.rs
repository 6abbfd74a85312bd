//! Verdicts and failed fits as SARIF 2.1.0: code hosts and editors mark the line.

mod document;
mod location;

use std::io::{self, Write};

use whyoom_causes::{CATALOGUE, CallSite, Cause, Finding, Remedy};
use whyoom_memory::{SourceLine, source_line};

use self::{
    document::{Log, Message, Result as Failure, Rule},
    location::Location,
};
use crate::{
    Answer, FitAnswer, FitSetting, documentation::documentation, fit, written::write_document,
};

pub use location::SourceFolders;

/// The cause that is none.
const HEALTHY: &str = "healthy";
/// The rule of an assertion of `whyoom fit` that does not hold.
const ASSERTION: &str = "fit-assertion";
/// The rule of a program that fits on none of the GPUs.
const DOES_NOT_FIT: &str = "does-not-fit";

/// Writes a verdict as SARIF: one result, or none where nothing failed.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_verdict_sarif(
    answer: &Answer<'_>,
    folders: &SourceFolders,
    out: &mut dyn Write,
) -> io::Result<()> {
    let results: Vec<Failure> = failure(answer, folders).into_iter().collect();
    let found = |cause: &&Cause| !results.is_empty() && cause.id == answer.verdict.primary.cause;
    let rules = CATALOGUE.iter().filter(found).map(rule).collect();
    write_document(&Log::new(rules, results), out)
}

fn rule(cause: &Cause) -> Rule {
    Rule::new(cause.id, cause.title, cause.explanation, documentation(cause.id))
}

/// What failed. Without a failure, an unknown cause says nothing, and any other is a warning: memory grows, say.
fn failure(answer: &Answer<'_>, folders: &SourceFolders) -> Option<Failure> {
    let finding = &answer.verdict.primary;
    let has_failed = answer.model.incidents_seen() > 0;
    if finding.cause == HEALTHY || !has_failed && finding.cause == "unknown" {
        return None;
    }
    let level = match (answer.caught, has_failed) {
        (Some(_), _) => "note",
        (None, true) => "error",
        (None, false) => "warning",
    };
    let located = |site: &CallSite| {
        let SourceLine { file, line } = source_line(answer.tables, &site.call_site)?;
        Location::of_line(&file, line, folders).map(|location| location.saying(&site.what))
    };
    let lines: Vec<Location> = finding.call_sites.iter().filter_map(located).collect();
    // Where no line is known, it is at least known what was read.
    let read = || answer.inputs.iter().find_map(|input| Location::of_file(&input.name, folders));
    let lines = if lines.is_empty() { read().into_iter().collect() } else { lines };
    Some(Failure::new(finding.cause, level, message(finding), lines))
}

fn message(finding: &Finding) -> Message {
    let mut text = finding.headline.clone();
    let mut markdown =
        format!("**{}**\n\n{}\n", escaped(&finding.headline), escaped(&finding.because));
    for remedy in &finding.remedies {
        let Remedy { what, .. } = remedy;
        let proved = if remedy.is_proved() { "proved" } else { "not proved" };
        let line = match remedy.code() {
            Some(code) => format!("\nfix: {code} ({what}; {proved})"),
            None => format!("\nfix: {what} ({proved})"),
        };
        text.push_str(&line);
        let fence = remedy.code().map_or(String::new(), fenced);
        markdown.push_str(&format!("\nFix ({proved}): {}\n{fence}", escaped(what)));
    }
    Message::new(text, markdown)
}

/// Writes what `whyoom fit` found wrong as SARIF: a result for each assertion that does not hold, and one where the
/// program fits on none of the GPUs.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_fit_sarif(
    answer: &FitAnswer,
    folders: &SourceFolders,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = answer.peaks.iter().flat_map(|peak| &peak.lines);
    let located = |line: &SourceLine| {
        let location = Location::of_line(&line.file, line.line, folders)?;
        Some(location.saying("live at the peak"))
    };
    let lines: Vec<Location> = lines.filter_map(located).collect();
    let failed = answer.assertions.iter().filter(|assertion| !assertion.holds);
    let mut results: Vec<Failure> = failed
        .map(|assertion| {
            let text = format!("{} does not hold: {}", assertion.text, assertion.found);
            let markdown = format!("**{}**\n", escaped(&text));
            Failure::new(ASSERTION, "error", Message::new(text, markdown), lines.clone())
        })
        .collect();
    if !fit::fits_somewhere(answer) {
        results.push(Failure::new(DOES_NOT_FIT, "error", unfit_message(answer), lines));
    }
    write_document(&Log::new(fit_rules(), results), out)
}

fn unfit_message(answer: &FitAnswer) -> Message {
    let mut text = fit::qualified(answer);
    let mut markdown = format!("**{}**\n", escaped(&text));
    let processes = answer.gpus.iter().flat_map(|gpu| &gpu.processes);
    let settings = processes.filter_map(|process| process.fits_with.as_ref());
    if let Some(FitSetting { paste, .. }) = settings.into_iter().next() {
        text.push_str(&format!("\nfix: {paste}"));
        markdown.push_str(&format!("\nFix (replayed):\n{}", fenced(paste)));
    }
    Message::new(text, markdown)
}

fn fit_rules() -> Vec<Rule> {
    let page = |heading: &str| format!("{}fit.html#{heading}", env!("CARGO_PKG_HOMEPAGE"));
    vec![
        Rule::new(
            ASSERTION,
            "The program needs more GPU memory than was asserted",
            "whyoom fit --assert compares the program's memory on a simulated GPU with a limit, so that a change \
             that needs more is seen before it is merged. The marked line made the peak.",
            page("a-memory-regression-test-without-a-gpu"),
        ),
        Rule::new(
            DOES_NOT_FIT,
            "The program fits on none of the GPUs",
            "whyoom fit ran the program on a simulated GPU without a memory limit and replayed it for each GPU. The \
             marked line made the peak.",
            page("output"),
        ),
    ]
}

/// Code between fences that it cannot close: strangers wrote parts of it.
fn fenced(code: &str) -> String {
    let longest = code.split(|one| one != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("\n{fence}\n{code}\n{fence}\n")
}

/// Words in markdown as they are.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        if matches!(one, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '!' | '#' | '|' | '&') {
            out.push('\\');
        }
        out.push(if one.is_control() { ' ' } else { one });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_words_are_no_markup() {
        assert_eq!(escaped("[x](javascript:y)\n<b>"), "\\[x\\](javascript:y) \\<b\\>");
        assert_eq!(fenced("a ``` b"), "\n````\na ``` b\n````\n");
        assert_eq!(fenced("plain"), "\n```\nplain\n```\n");
    }
}
