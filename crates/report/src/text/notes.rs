//! What else is worth a sentence: the numbers behind the cause, what the figures leave open, who else is concerned.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use whyoom_causes::{CallSite, Finding};
use whyoom_memory::Incident;
use whyoom_redact::terminal::wrap;
use whyoom_trace::DeviceId;

use super::{
    detail::Detail,
    wording::{in_words, printable, whose},
};
use crate::{
    Answer,
    style::{self, styled},
};

/// Processes beyond these are left to `--json`.
const LISTED: usize = 8;

pub(super) fn write(
    answer: &Answer<'_>,
    detail: Detail,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let verdict = answer.verdict;
    let mut notes = vec![verdict.primary.because.clone()];
    notes.extend(without_line(&verdict.primary).map(str::to_owned));
    notes.extend(failures(answer));
    notes.extend(alternatives(answer));
    notes.extend(processes(answer));
    notes.extend(also(answer, detail));
    for input in answer.inputs {
        notes.extend(input.notes.iter().map(|note| format!("{}: {note}", input.name)));
    }
    for note in notes.iter().filter(|note| !note.is_empty()) {
        let note = wrap(note, width, "      ");
        writeln!(out, "{} {}", styled(style::NOTE, "note:"), note.trim_start())?;
    }
    if detail == Detail::Verbose { write_processes(answer, out) } else { Ok(()) }
}

/// How often requests failed, where the first failure did not end the program.
fn failures(answer: &Answer<'_>) -> Option<String> {
    if answer.caught.is_some() {
        // The first line says so.
        return None;
    }
    let primary = &answer.verdict.primary;
    let same = |incident: &&Incident| {
        (incident.process, incident.device) == (primary.process, primary.device)
            && incident.of_driver
    };
    let count = answer.model.incidents().iter().filter(same).count();
    (count > 1).then(|| format!("{count} requests failed: the program went on after a failure"))
}

/// What a compiler was not asked to tell.
fn without_line(finding: &Finding) -> Option<&'static str> {
    let is_bare = |site: &CallSite| {
        let file = site.call_site.rsplit_once(" in ").map(|(_, file)| file);
        file.is_some_and(|file| !file.contains(".so") && !file.contains(':'))
    };
    let any = finding.call_sites.iter().any(is_bare);
    any.then_some("compile the program with -g (with -O2, too) to see callers and lines here")
}

/// The other cause, where the printed figures do not tell them apart.
fn alternatives(answer: &Answer<'_>) -> impl Iterator<Item = String> {
    answer.verdict.alternatives.iter().map(|cause| {
        format!(
            "or {}: {}. The values are rounded, and 1 % decides between the two; a recording \
             (whyoom run) distinguishes them.",
            cause.id, cause.title
        )
    })
}

/// Of several processes, what each was judged to have, and the one that the figures are of.
fn processes(answer: &Answer<'_>) -> Option<String> {
    let judged = &answer.verdict.by_process;
    if judged.len() < 2 {
        return None;
    }
    let one_process = judged.windows(2).all(|pair| pair[0].0 == pair[1].0);
    let has_host = judged.iter().any(|(_, device, _)| *device == DeviceId::HOST);
    let of = match (one_process, has_host) {
        (true, false) => "GPUs",
        (true, true) => "kinds of memory (GPU and pinned host memory)",
        (false, _) => "processes",
    };
    let mut counts = BTreeMap::<&str, usize>::new();
    for (_, _, cause) in judged {
        *counts.entry(cause).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let whose = whose(answer, &answer.verdict.primary);
    Some(match counts.as_slice() {
        [(cause, count)] => {
            let all = if *count == 2 { "both".to_owned() } else { format!("all {count}") };
            format!("{all} {of}: {cause}; the values are those of {whose}")
        }
        _ => {
            let each = counts.iter().map(|(cause, count)| format!("{count} {cause}"));
            let each = each.collect::<Vec<_>>().join(", ");
            format!("of {} {of}: {each}; the values are those of {whose}", judged.len())
        }
    })
}

/// What holds too. Only what would help if it were removed is worth a line.
fn also(answer: &Answer<'_>, detail: Detail) -> Vec<String> {
    let verdict = answer.verdict;
    let all = detail == Detail::Verbose;
    let findings = verdict.contributing.iter().filter(|one| all || verdict.matters(one));
    let primary = &verdict.primary;
    findings
        .map(|finding| {
            let elsewhere = Some(finding).filter(|one| verdict.is_elsewhere(one));
            let whose = elsewhere.map_or(String::new(), |one| format!(" ({})", whose(answer, one)));
            let fix = elsewhere.and_then(first_fix).unwrap_or_default();
            let at = finding.call_sites.first().filter(|site| !primary.call_sites.contains(site));
            let at = at.map_or(String::new(), |site| format!(", at {}", in_words(&site.call_site)));
            format!("also {}: {}{at}{whose}{fix}", finding.cause, finding.headline)
        })
        .collect()
}

/// What to do first about a finding of another process.
fn first_fix(finding: &Finding) -> Option<String> {
    let remedy = finding.remedies.first()?;
    Some(format!("; fix: {}", remedy.paste.as_deref().unwrap_or(&remedy.what)))
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
