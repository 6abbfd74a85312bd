//! `whyoom export`.

use std::{
    io::{self, BufWriter, IsTerminal, Write},
    path::Path,
};

use anyhow::{Error, Result, bail};
use whyoom_exports::{
    ExportError, FORMATS, Format, MakeStore, Target, format_named, format_of_file,
};
use whyoom_files::temporary;
use whyoom_trace::{Bytes, Tables};

use crate::{
    argument_values::is_standard_output,
    arguments::ExportArguments,
    misuse::Misuse,
    source::{self, Frames},
    terminal::{print_line, say},
    whole_file::{WholeFile, folder_of, may_write},
};

/// What is written at once.
const BUFFER: usize = 1 << 20;

pub(crate) fn run(arguments: &ExportArguments) -> Result<()> {
    if is_standard_output(&arguments.output) {
        check_standard_output(arguments)?;
    }
    let format = format(arguments)?;
    if let Some(process) = arguments.process.as_ref().filter(|_| !format.of_one_process) {
        return Err(Misuse(format!(
            "--process {process}: {} contains all processes, by name",
            format.name
        ))
        .into());
    }
    if is_standard_output(&arguments.output) {
        let out = Box::new(BufWriter::with_capacity(BUFFER, io::stdout()));
        let notes = write(arguments, format, out, &temporary::folder())?;
        say_notes(&notes);
        return Ok(());
    }
    may_write(&arguments.output, arguments.force)?;
    let file = WholeFile::begin(&arguments.output)?;
    let out = Box::new(BufWriter::with_capacity(BUFFER, file.handle()?));
    let notes = write(arguments, format, out, folder_of(&arguments.output))?;
    let size = Bytes(file.handle()?.metadata()?.len());
    file.finish()?;
    let name = arguments.output.display().to_string();
    print_line(&format!("wrote {name} ({size}): {}", format.opened_by.replace("FILE", &name)));
    say_notes(&notes);
    Ok(())
}

/// Exports, with a folder for what has to wait until the end; notes for people come back.
fn write(
    arguments: &ExportArguments,
    format: &Format,
    out: Box<dyn Write + Send>,
    folder: &Path,
) -> Result<Vec<String>> {
    let (process, folder) = (arguments.process.clone(), folder.to_owned());
    let store: MakeStore = Box::new(move || Ok(Box::new(tempfile::tempfile_in(folder)?)));
    let mut export = (format.start)(Target { out, store, process })?;
    let mut tables = Tables::default();
    let contents = source::read(&arguments.input, Frames::Named, &mut tables, export.as_mut())?;
    let exported = export.finish(&tables).map_err(|error| {
        let what = match &error {
            ExportError::Write(_) => format!("cannot write {}", arguments.output.display()),
            _ => format!("cannot export {}", contents.input.name),
        };
        Error::from(error).context(what)
    })?;
    Ok(contents.input.notes.into_iter().chain(exported.notes).collect())
}

fn say_notes(notes: &[String]) {
    notes.iter().for_each(|note| say(&format!("note: {note}")));
}

/// Every format is for programs: a terminal would only be garbled by it.
fn check_standard_output(arguments: &ExportArguments) -> Result<()> {
    if arguments.to.is_none() {
        bail!(Misuse("-o - has no extension that names the format: add --to".to_owned()));
    }
    if io::stdout().is_terminal() {
        bail!(Misuse(
            "the export is binary and standard output is a terminal: redirect it (> FILE), or name a \
             file with -o"
                .to_owned()
        ));
    }
    Ok(())
}

/// The format that was asked for, or that the output's name tells.
fn format(arguments: &ExportArguments) -> Result<&'static Format> {
    let name = file_name(&arguments.output);
    let told = match &arguments.to {
        Some(to) => format_named(to),
        None => format_of_file(&name),
    };
    let unknown = || {
        let known: Vec<_> = FORMATS
            .iter()
            .map(|format| format!("{} ({})", format.name, format.extensions[0]))
            .collect();
        Misuse(format!(
            "cannot detect the format from '{name}': add --to, or use one of these extensions: {}",
            known.join(", ")
        ))
    };
    Ok(told.ok_or_else(unknown)?)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
