//! `whyoom report`, and `--report` of other commands: one HTML file with everything in it.

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result};
use whyoom_causes::Verdict;
use whyoom_report::{Report, write_report_html, write_report_json};
use whyoom_sources::recording::Ending;
use whyoom_trace::Bytes;

use crate::{
    arguments::ReportArguments, reading::Reading, replay::WhatIf, terminal::print_line,
    whole_file::WholeFile,
};

/// What a report of a recording made in the lab says of itself.
const SIMULATED: &str = "Recorded on a simulated GPU (whyoom lab): its memory, limits and errors are \
                         simulated, and nothing was computed.";

pub(crate) fn run(arguments: &ReportArguments) -> Result<()> {
    let mut reading = Reading::new(true);
    for file in &arguments.files {
        reading.add(file)?;
    }
    let verdict = reading.judge()?;
    if arguments.json {
        return with_report(&mut reading, &verdict, |report| {
            let mut out = io::BufWriter::new(anstream::stdout().lock());
            write_report_json(report, &mut out)?;
            Ok(out.flush()?)
        });
    }
    let told = write(&mut reading, &verdict, &arguments.output)?;
    print_line(&told);
    Ok(())
}

/// Writes the report of a verdict into a file; what to tell the person comes back.
pub(crate) fn write(reading: &mut Reading, verdict: &Verdict, path: &Path) -> Result<String> {
    with_report(reading, verdict, |report| write_file(report, path))
}

/// Writes a report into a file; what to tell the person comes back.
pub(crate) fn write_file(report: &Report<'_>, path: &Path) -> Result<String> {
    let name = path.display();
    let context = || format!("cannot write {name}");
    let file = WholeFile::begin(path)?;
    let mut out = io::BufWriter::new(file.handle()?);
    write_report_html(report, &mut out).with_context(context)?;
    let handle = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(context)?;
    let size = Bytes(handle.metadata().with_context(context)?.len());
    file.finish()?;
    let contents = report.contents().join("; ");
    Ok(format!("wrote {name} ({size}): open it in a browser\nwho opens it sees: {contents}"))
}

fn with_report<T>(
    reading: &mut Reading,
    verdict: &Verdict,
    then: impl FnOnce(&Report<'_>) -> Result<T>,
) -> Result<T> {
    let runs = reading.take_runs();
    let what_if = WhatIf::of(runs.as_deref());
    let runs = runs.unwrap_or_default();
    let replay = what_if.answers(&runs, &reading.tables);
    let names: Vec<String> = reading.names().map(shown).collect();
    then(&Report {
        title: names.join(", "),
        answer: Some(reading.answer(verdict)),
        memory: Some((&reading.model, &reading.tables)),
        replay: &replay,
        replay_note: what_if.note.clone(),
        simulated: is_simulated(reading).then(|| SIMULATED.to_owned()),
        fit: None,
    })
}

/// A path as people recognise it: without the folders before its name.
fn shown(name: &str) -> String {
    let path = Path::new(name);
    let last = path.file_name().filter(|_| path.is_absolute());
    last.map_or_else(|| name.to_owned(), |last| last.to_string_lossy().into_owned())
}

/// Whether any of what was read was recorded on a simulated GPU.
fn is_simulated(reading: &Reading) -> bool {
    let mut endings = reading.paths().iter().filter_map(|path| Ending::read(path));
    endings.any(|ending| ending.simulated)
}
