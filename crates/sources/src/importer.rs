//! The table of importers: how each kind of file is recognised by its first bytes, and what reads it.

use std::{
    io::{self, Read},
    path::Path,
};

use thiserror::Error;
use whyoom_trace::{EventSink, Tables};

#[cfg(not(target_family = "wasm"))]
use crate::nsys::{self, NsysError};
use crate::{
    input_kind::InputKind,
    oom_text, rmm_log,
    torch_snapshot::{self, SnapshotError},
    unreadable,
};

/// Enough of a file to recognise it.
pub const FIRST_BYTES: u64 = 512;

/// Why a file was not imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is of no kind that can be read; the text says what to do instead.
    #[error("{0}")]
    Unreadable(String),
    /// A PyTorch snapshot that cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// An export of Nsight Systems that cannot be read.
    #[cfg(not(target_family = "wasm"))]
    #[error(transparent)]
    Nsys(#[from] NsysError),
    /// The file itself cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A kind of file: how it is known, and what reads it.
pub struct Importer {
    /// What it is.
    pub kind: InputKind,
    /// Whether a file that starts with these bytes is one.
    is: fn(&[u8]) -> bool,
    /// What reads it.
    pub read: Reader,
}

/// What pushes a file's events into a sink.
pub enum Reader {
    /// From its beginning to its end.
    Stream(ReadStream),
    /// From wherever its parts lie.
    File(ReadFile),
}

/// Reads a stream.
type ReadStream = fn(&mut dyn Read, &NamedInput<'_>, &mut Tables, &mut dyn EventSink) -> Notes;
/// Reads a file by its path.
type ReadFile = fn(&Path, &NamedInput<'_>, &mut Tables, &mut dyn EventSink) -> Notes;

/// What is worth saying of a file that was read.
type Notes = Result<Vec<String>, ImportError>;

/// An input that is being read.
pub struct NamedInput<'a> {
    /// As people know it.
    pub name: &'a str,
    /// Its beginning, of [`FIRST_BYTES`] at most.
    pub first_bytes: &'a [u8],
}

/// Every kind of file, in the order in which they are tried: whatever is none of the others is text.
const IMPORTERS: &[Importer] = &[
    Importer {
        kind: InputKind::TorchSnapshot,
        is: torch_snapshot::is_pickle,
        read: Reader::Stream(torch_snapshot),
    },
    Importer { kind: InputKind::RmmLog, is: rmm_log::is_rmm_log, read: Reader::Stream(rmm_log) },
    Importer { kind: InputKind::NsightSystems, is: is_sqlite, read: Reader::File(nsys) },
    Importer { kind: InputKind::Text, is: is_text, read: Reader::Stream(text) },
];

/// What reads an input, or why it cannot be read.
///
/// # Errors
///
/// The input is of no kind that can be read.
pub fn importer_of(input: &NamedInput<'_>) -> Result<&'static Importer, ImportError> {
    if let Some(reason) = unreadable::reason(input.name, input.first_bytes) {
        return Err(ImportError::Unreadable(reason));
    }
    let found = IMPORTERS.iter().find(|importer| (importer.is)(input.first_bytes));
    found.ok_or_else(|| ImportError::Unreadable(unreadable::NOTHING_KNOWN.to_owned()))
}

fn torch_snapshot(
    reader: &mut dyn Read,
    input: &NamedInput<'_>,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Notes {
    // The same process when the file is read again.
    let known = tables.process_named(input.name);
    let process = known.unwrap_or_else(|| tables.process(input.name));
    let summary = torch_snapshot::import(reader, process, tables, sink)?;
    let contradiction = (summary.contradictions > 0).then(|| {
        format!(
            "its history and its state disagree about {} blocks; values over time may be inaccurate",
            summary.contradictions
        )
    });
    Ok(contradiction.into_iter().collect())
}

fn rmm_log(
    reader: &mut dyn Read,
    input: &NamedInput<'_>,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Notes {
    let device = rmm_log::device_of(input.name);
    Ok(rmm_log::import(reader, input.name, device, tables, sink)?.notes())
}

/// Whether it is an SQLite database.
fn is_sqlite(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(b"SQLite format 3\0")
}

#[cfg(not(target_family = "wasm"))]
fn nsys(
    path: &Path,
    input: &NamedInput<'_>,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Notes {
    Ok(nsys::import(path, input.name, tables, sink)?.notes())
}

/// A browser has no SQLite.
#[cfg(target_family = "wasm")]
fn nsys(_: &Path, input: &NamedInput<'_>, _: &mut Tables, _: &mut dyn EventSink) -> Notes {
    let name = whyoom_redact::file_for_shell(input.name).unwrap_or_else(|| "FILE".to_owned());
    Err(ImportError::Unreadable(format!("it is a database: read it with whyoom why {name}")))
}

/// Whether it is text. That of Windows' shell has zeros in it, behind a mark.
fn is_text(first_bytes: &[u8]) -> bool {
    matches!(first_bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) || !first_bytes.contains(&0)
}

fn text(
    reader: &mut dyn Read,
    input: &NamedInput<'_>,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Notes {
    let summary = oom_text::scan(reader, input.name, tables, sink)?;
    // A page that quotes a message is as good as a log.
    if summary.messages == 0
        && let Some(instead) = unreadable::text_without_message(input.first_bytes)
    {
        return Err(ImportError::Unreadable(instead.to_owned()));
    }
    let passed_over = (summary.passed_over > 0).then(|| {
        format!("{} more lines looked like messages and were skipped", summary.passed_over)
    });
    Ok(passed_over.into_iter().collect())
}
