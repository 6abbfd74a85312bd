//! `whyoom report`, and `--report` of other commands: one HTML file with everything in it.

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use whyoom_causes::Verdict;
use whyoom_reading::ReportOf;
use whyoom_redact::Paths;
use whyoom_report::{Report, write_report_html, write_report_json};
use whyoom_trace::Bytes;

use crate::{
    argument_values::is_standard_output,
    arguments::ReportArguments,
    misuse::Misuse,
    newest::{is_idle_input, newest_here},
    reading::Reading,
    terminal::{print_line, say},
    whole_file::{WholeFile, may_write},
};

pub(crate) use whyoom_reading::SIMULATED;

pub(crate) fn run(arguments: &ReportArguments) -> Result<()> {
    if !arguments.json && !is_standard_output(&arguments.output) {
        may_write(&arguments.output, arguments.force)?;
    }
    let mut reading = Reading::new(true);
    if arguments.files.is_empty() {
        ensure!(
            is_idle_input(),
            Misuse("to read standard input, name it: whyoom report -".to_owned())
        );
        let none = "no recording is in this folder: name one, or record one with whyoom run";
        reading.add(&newest_here().ok_or_else(|| Misuse(none.to_owned()))?)?;
    }
    for file in &arguments.files {
        reading.add(file)?;
    }
    let verdict = reading.judge()?;
    if arguments.json {
        return with_report(&mut reading, &verdict, arguments.full_paths, |report| {
            let mut out = io::BufWriter::new(anstream::stdout().lock());
            write_report_json(report, &mut out)?;
            Ok(out.flush()?)
        });
    }
    let full_paths = arguments.full_paths;
    if is_standard_output(&arguments.output) {
        return with_report(&mut reading, &verdict, full_paths, write_standard_output);
    }
    let told = with_report(&mut reading, &verdict, full_paths, |report| {
        write_file(report, &arguments.output)
    })?;
    print_line(&told);
    Ok(())
}

/// Writes the report of a verdict into a file; what to tell the person comes back.
pub(crate) fn write(reading: &mut Reading, verdict: &Verdict, path: &Path) -> Result<String> {
    with_report(reading, verdict, false, |report| write_file(report, path))
}

/// Writes a report into a file; what to tell the person comes back.
pub(crate) fn write_file(report: &Report<'_>, path: &Path) -> Result<String> {
    write_page(path, &report.contents(), |out| write_report_html(report, out))
}

/// Writes a page that has this in it; what to tell the person comes back.
pub(crate) fn write_page(
    path: &Path,
    contents: &[String],
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<String> {
    let name = path.display();
    let context = || format!("cannot write {name}");
    let file = WholeFile::begin(path)?;
    let mut out = io::BufWriter::new(file.handle()?);
    write(&mut out).with_context(context)?;
    let handle = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(context)?;
    let size = Bytes(handle.metadata().with_context(context)?.len());
    file.finish()?;
    let contents = contents.join("; ");
    Ok(format!("wrote {name} ({size}): open it in a browser\nthis file contains: {contents}"))
}

/// Writes a report to standard output, and to standard error what is in it.
fn write_standard_output(report: &Report<'_>) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write_report_html(report, &mut out)?;
    out.flush()?;
    say(&format!("the report contains: {}", report.contents().join("; ")));
    Ok(())
}

fn with_report<T>(
    reading: &mut Reading,
    verdict: &Verdict,
    full_paths: bool,
    then: impl FnOnce(&Report<'_>) -> Result<T>,
) -> Result<T> {
    let paths = local_paths(reading.names().filter_map(|name| Path::new(name).parent()));
    reading.with_report(verdict, ReportOf { paths, full_paths }, then)
}

/// Leaves out of paths where this command runs, and these folders.
pub(crate) fn local_paths<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Paths {
    let here = std::env::current_dir().unwrap_or_default();
    let named = folders.into_iter().filter_map(Path::to_str).fold(Paths::default(), Paths::without);
    let paths = here.to_str().into_iter().fold(named, Paths::without);
    match std::env::var(if cfg!(windows) { "USERPROFILE" } else { "HOME" }) {
        Ok(home) => paths.with_home(&home),
        Err(_) => paths,
    }
}
