//! `whyoom export`.

use std::{io::BufWriter, path::Path};

use anyhow::{Error, Result};
use clap::builder::PossibleValuesParser;
use whyoom_exports::{ExportError, FORMATS, Format, Target, format_named, format_of_file};
use whyoom_trace::{Bytes, Tables};

use crate::{
    arguments::ExportArguments,
    misuse::Misuse,
    source::{self, Frames},
    terminal::{print_line, say},
    whole_file::{WholeFile, folder_of},
};

/// The words that `--to` takes.
pub(crate) fn export_format() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}

/// What is written at once.
const BUFFER: usize = 1 << 20;

pub(crate) fn run(arguments: &ExportArguments) -> Result<()> {
    let format = format(arguments)?;
    if let Some(process) = arguments.process.as_ref().filter(|_| !format.of_one_process) {
        return Err(Misuse(format!(
            "--process {process}: {} tells of all processes, by their names",
            format.name
        ))
        .into());
    }
    let file = WholeFile::begin(&arguments.output)?;
    let target = Target {
        out: Box::new(BufWriter::with_capacity(BUFFER, file.handle()?)),
        folder: folder_of(&arguments.output).to_owned(),
        process: arguments.process.clone(),
    };
    let mut export = (format.start)(target)?;
    let mut tables = Tables::default();
    let contents = source::read(&arguments.input, Frames::Named, &mut tables, export.as_mut())?;
    let exported = export.finish(&tables).map_err(|error| {
        let what = match &error {
            ExportError::Write(_) => format!("cannot write {}", arguments.output.display()),
            _ => format!("cannot export {}", contents.input.name),
        };
        Error::from(error).context(what)
    })?;
    let size = Bytes(file.handle()?.metadata()?.len());
    file.finish()?;
    let name = arguments.output.display().to_string();
    print_line(&format!("wrote {name} ({size}): {}", format.opened_by.replace("FILE", &name)));
    for note in contents.input.notes.iter().chain(&exported.notes) {
        say(&format!("note: {note}"));
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
            "'{name}' does not tell the format: add --to, or end the name as one of these: {}",
            known.join(", ")
        ))
    };
    Ok(told.ok_or_else(unknown)?)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
