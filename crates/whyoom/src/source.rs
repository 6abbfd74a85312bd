//! An input, whatever it is, read into whatever takes events: the one way in for every command.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
};

use anyhow::{Context, Result};
use whyoom_report::{Input, InputKind};
use whyoom_sources::{oom_text, recording, torch_snapshot};
use whyoom_symbols::Symbols;
use whyoom_trace::{EventSink, ProcessId, Tables};

use crate::{
    input::{FIRST_BYTES, is_recording, kind_of},
    progress::{ProgressReader, ProgressSink},
};

/// Whether the native frames of a recording get their names, which takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frames {
    Named,
    Nameless,
}

/// What was read.
pub(crate) struct Contents {
    pub(crate) input: Input,
    /// How many events a recording held.
    pub(crate) recorded_events: u64,
}

/// Reads a recording, a file, or `-`, into a sink. What is read a second time with the same tables
/// keeps its ids.
pub(crate) fn read(
    path: &Path,
    frames: Frames,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<Contents> {
    if path == Path::new("-") {
        if io::stdin().is_terminal() {
            anstream::eprintln!("Paste the traceback, then press Ctrl-D.");
        }
        return read_stream(io::stdin().lock(), None, "standard input", tables, sink);
    }
    let name = path.display().to_string();
    if is_recording(path) {
        return read_recording(path, &name, frames, tables, sink);
    }
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let metadata = file.metadata().with_context(|| format!("cannot read {name}"))?;
    anyhow::ensure!(
        !metadata.is_dir(),
        "{name} is a folder and no recording of whyoom run; name the files in it"
    );
    read_stream(file, Some(metadata.len()), &name, tables, sink)
}

fn read_recording(
    path: &Path,
    name: &str,
    frames: Frames,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<Contents> {
    let mut sink = ProgressSink::new(sink, name);
    let summary = match frames {
        Frames::Named => recording::import(path, &mut Symbols::default(), tables, &mut sink),
        Frames::Nameless => recording::import(path, &mut recording::Unresolved, tables, &mut sink),
    };
    let summary = summary.with_context(|| format!("cannot read {name}"))?;
    let input = Input { name: name.to_owned(), kind: InputKind::Recording, notes: summary.notes };
    Ok(Contents { input, recorded_events: summary.events })
}

fn read_stream(
    reader: impl Read,
    length: Option<u64>,
    name: &str,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<Contents> {
    let mut reader = ProgressReader::new(reader, length, name);
    let context = || format!("cannot read {name}");
    let mut first_bytes = Vec::new();
    reader.by_ref().take(FIRST_BYTES).read_to_end(&mut first_bytes).with_context(context)?;
    let kind = kind_of(&first_bytes).with_context(context)?;
    let whole = first_bytes.chain(reader);
    let notes = match kind {
        InputKind::TorchSnapshot => read_snapshot(whole, name, tables, sink),
        InputKind::Text | InputKind::Recording => read_text(whole, name, tables, sink),
    };
    let input = Input { name: name.to_owned(), kind, notes: notes.with_context(context)? };
    Ok(Contents { input, recorded_events: 0 })
}

fn read_snapshot(
    reader: impl Read,
    name: &str,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<Vec<String>> {
    let process = process_of(name, tables);
    let summary = torch_snapshot::import(reader, process, tables, sink)?;
    let contradiction = (summary.contradictions > 0).then(|| {
        format!(
            "its history and its state disagree about {} blocks; figures over time may be off",
            summary.contradictions
        )
    });
    Ok(contradiction.into_iter().collect())
}

fn read_text(
    reader: impl Read,
    name: &str,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<Vec<String>> {
    let summary = oom_text::scan(reader, name, tables, sink)?;
    let passed_over = (summary.passed_over > 0).then(|| {
        format!("{} more lines looked like messages and were passed over", summary.passed_over)
    });
    Ok(passed_over.into_iter().collect())
}

/// The process that a file stands for: the same one when it is read again.
fn process_of(name: &str, tables: &mut Tables) -> ProcessId {
    tables.process_named(name).unwrap_or_else(|| tables.process(name))
}
