//! An input, whatever it is, read into whatever takes events: the one way in for every command.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
};

use anyhow::{Context, Result, anyhow, bail};
use whyoom_files::{named, untrusted};
use whyoom_reading::{Packed, PackedError, begin, is_packed};
use whyoom_report::Input;
use whyoom_sources::{
    FIRST_BYTES, InputKind,
    recording::{self, Ending, is_recording},
};
use whyoom_symbols::Symbols;
use whyoom_trace::{EventSink, Tables};

use crate::{
    beside::{process_in, snapshots},
    newest::newest_recording,
    progress::{ProgressReader, ProgressSink},
    unopened::{file_or_placeholder, unopened},
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
    /// Whether it is of a simulated GPU.
    pub(crate) simulated: bool,
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
        return read_stream(io::stdin().lock(), None, ("standard input", None), tables, sink);
    }
    let name = path.display().to_string();
    if is_recording(path) {
        return read_recording(path, &name, frames, tables, sink);
    }
    if let Some(pid) = process_in(path) {
        return read_attached(path, pid, tables, sink);
    }
    let file = open(path)?;
    let metadata = file.metadata().with_context(|| format!("cannot read {name}"))?;
    if metadata.is_dir() {
        return Err(no_folder(path));
    }
    // A database is opened by its path once more, which a pipe does not survive.
    let again = metadata.is_file().then_some(path);
    read_stream(file, Some(metadata.len()), (&name, again), tables, sink)
}

/// Said of a packed recording of which only the events are read.
const ALONE: &str = "what lies beside this recording is not read from a pipe: name the file";

/// The recording that a file holds, if it is a packed one.
pub(crate) fn packed(path: &Path) -> Result<Option<Packed>> {
    // What is no regular file can be read once only.
    if path == Path::new("-") || !path.is_file() {
        return Ok(None);
    }
    let name = path.display().to_string();
    let mut file = open(path)?;
    let mut first_bytes = Vec::new();
    let context = || format!("cannot read {name}");
    file.by_ref().take(FIRST_BYTES).read_to_end(&mut first_bytes).with_context(context)?;
    if !is_packed(&first_bytes) {
        return Ok(None);
    }
    let length = file.metadata().map(|file| file.len()).ok();
    let whole = io::Cursor::new(&first_bytes).chain(file);
    let reader = ProgressReader::new(whole, length, &name);
    unpack(&name, &first_bytes, reader).with_context(context).map(Some)
}

fn unpack(name: &str, beginning: &[u8], whole: impl Read) -> Result<Packed> {
    match Packed::unpack(name, whole) {
        // A compressed log, say: what to do with it is told as of other files.
        Err(PackedError::NoRecording) => {
            begin(name, beginning)?;
            bail!(PackedError::NoRecording)
        }
        unpacked => Ok(unpacked?),
    }
}

/// Reads a file that was found in a recording's folder, into a sink: whoever made the folder chose what it is.
pub(crate) fn read_entry(
    path: &Path,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<Contents> {
    let name = path.display().to_string();
    let cannot = || format!("cannot read {name}, which is part of a recording");
    let file = untrusted::open_entry(path).with_context(cannot)?;
    let length = file.metadata().with_context(cannot)?.len();
    read_stream(file, Some(length), (&name, None), tables, sink)
}

/// Reads what `whyoom attach` saw of a process: PyTorch's snapshot.
fn read_attached(
    folder: &Path,
    pid: u32,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<Contents> {
    let found = snapshots(folder);
    let snapshot =
        found.first().with_context(|| format!("{} has no snapshot", folder.display()))?;
    let file = untrusted::open_entry(snapshot)?;
    let length = file.metadata()?.len();
    // What refers to the memory is found by this number.
    let name = format!("{} (PID {pid})", folder.display());
    read_stream(file, Some(length), (&name, None), tables, sink)
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
    // Its errors name the folder.
    let summary = summary?;
    let input = Input { name: name.to_owned(), kind: InputKind::Recording, notes: summary.notes };
    let simulated = Ending::read(path).is_some_and(|ending| ending.simulated);
    Ok(Contents { input, recorded_events: summary.events, simulated })
}

/// Reads what a file, a pipe or an argument holds into a sink. `path` names a regular file that can be opened again.
pub(crate) fn read_stream(
    reader: impl Read,
    length: Option<u64>,
    (name, path): (&str, Option<&Path>),
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<Contents> {
    let mut reader = ProgressReader::new(reader, length, name);
    let context = || format!("cannot read {name}");
    let mut first_bytes = Vec::new();
    reader.by_ref().take(FIRST_BYTES).read_to_end(&mut first_bytes).with_context(context)?;
    let beginning = first_bytes.clone();
    let whole = io::Cursor::new(first_bytes).chain(reader);
    if is_packed(&beginning) {
        let packed = unpack(name, &beginning, whole).with_context(context)?;
        let mut input =
            packed.import(&mut recording::Unresolved, tables, sink).with_context(context)?;
        if path.is_none() && packed.has_more() {
            input.notes.push(ALONE.to_owned());
        }
        let simulated = packed.is_simulated();
        return Ok(Contents { input, recorded_events: 0, simulated });
    }
    let begun = begin(name, whole).with_context(context)?;
    let input = match path.filter(|_| begun.kind() == InputKind::NsightSystems) {
        // Its pages are read as they are needed: what was read so far tells nothing of how much is left.
        Some(path) => begun.import_file(path, tables, &mut ProgressSink::new(sink, name)),
        None => begun.import(tables, sink),
    };
    Ok(Contents { input: input.with_context(context)?, recorded_events: 0, simulated: false })
}

fn no_folder(path: &Path) -> anyhow::Error {
    let name = path.display();
    let advice = match newest_recording(path) {
        Some(newest) => format!("the newest recording in it: {}", file_or_placeholder(&newest)),
        None => "name the files in it".to_owned(),
    };
    anyhow!(
        "{name} is a folder but neither a recording of whyoom run nor one of whyoom attach; {advice}"
    )
}

fn open(path: &Path) -> Result<File> {
    named::open(path).map_err(|error| {
        // Windows opens no folder.
        if path.is_dir() {
            return no_folder(path);
        }
        let advice = unopened(path, &error).map_or(String::new(), |told| format!("; {told}"));
        anyhow!("cannot open {}: {error}{advice}", path.display())
    })
}
