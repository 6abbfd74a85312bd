//! What a file is, told by its first bytes, and who reads it; what a folder is, by the files in it.

use std::{io::Read, path::Path};

use anyhow::{Result, bail, ensure};
use whyoom_report::InputKind;
use whyoom_sources::{nsys, oom_text, recording::ENDING, rmm_log, torch_snapshot};
use whyoom_trace::{EventSink, Tables};

use crate::unreadable;

/// So many bytes tell what a file is.
pub(crate) const FIRST_BYTES: u64 = 512;

/// A kind of file: how it is known, and what reads it.
pub(crate) struct Importer {
    pub(crate) kind: InputKind,
    /// Whether a file that starts with these bytes is one.
    is: fn(&[u8]) -> bool,
    pub(crate) read: Reader,
}

/// What pushes a file's events into a sink.
pub(crate) enum Reader {
    /// From its beginning to its end.
    Stream(ReadStream),
    /// From wherever its parts lie.
    File(ReadFile),
}

type ReadStream = fn(&mut dyn Read, &Named<'_>, &mut Tables, &mut dyn EventSink) -> Notes;
type ReadFile = fn(&Path, &Named<'_>, &mut Tables, &mut dyn EventSink) -> Notes;

/// What is worth saying of a file that was read.
type Notes = Result<Vec<String>>;

/// An input that is being read.
pub(crate) struct Named<'a> {
    /// As people know it.
    pub(crate) name: &'a str,
    pub(crate) first_bytes: &'a [u8],
}

/// Every kind of file, in the order in which they are tried: whatever is none of the others is text.
const IMPORTERS: &[Importer] = &[
    Importer {
        kind: InputKind::TorchSnapshot,
        is: torch_snapshot::is_pickle,
        read: Reader::Stream(torch_snapshot),
    },
    Importer { kind: InputKind::RmmLog, is: rmm_log::is_rmm_log, read: Reader::Stream(rmm_log) },
    Importer { kind: InputKind::NsightSystems, is: nsys::is_sqlite, read: Reader::File(nsys) },
    Importer { kind: InputKind::Text, is: is_text, read: Reader::Stream(text) },
];

/// What reads an input, or why it cannot be read.
pub(crate) fn importer_of(input: &Named<'_>) -> Result<&'static Importer> {
    let found = IMPORTERS.iter().find(|importer| (importer.is)(input.first_bytes));
    match unreadable::reason(input) {
        Some(reason) => bail!("{reason}"),
        None => found.ok_or_else(|| anyhow::anyhow!(unreadable::NOTHING_KNOWN)),
    }
}

fn torch_snapshot(
    reader: &mut dyn Read,
    input: &Named<'_>,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Notes {
    // The same process when the file is read again.
    let known = tables.process_named(input.name);
    let process = known.unwrap_or_else(|| tables.process(input.name));
    let summary = torch_snapshot::import(reader, process, tables, sink)?;
    let contradiction = (summary.contradictions > 0).then(|| {
        format!(
            "its history and its state disagree about {} blocks; figures over time may be off",
            summary.contradictions
        )
    });
    Ok(contradiction.into_iter().collect())
}

fn rmm_log(
    reader: &mut dyn Read,
    input: &Named<'_>,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Notes {
    let device = rmm_log::device_of(input.name);
    Ok(rmm_log::import(reader, input.name, device, tables, sink)?.notes())
}

fn nsys(path: &Path, input: &Named<'_>, tables: &mut Tables, sink: &mut dyn EventSink) -> Notes {
    Ok(nsys::import(path, input.name, tables, sink)?.notes())
}

/// Whether it is text. That of Windows' shell has zeros in it, behind a mark.
fn is_text(first_bytes: &[u8]) -> bool {
    matches!(first_bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) || !first_bytes.contains(&0)
}

fn text(
    reader: &mut dyn Read,
    input: &Named<'_>,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Notes {
    let summary = oom_text::scan(reader, input.name, tables, sink)?;
    // A page that quotes a message is as good as a log.
    let instead = unreadable::text_without_message(input.first_bytes);
    ensure!(summary.messages > 0 || instead.is_none(), "{}", instead.unwrap_or_default());
    let passed_over = (summary.passed_over > 0).then(|| {
        format!("{} more lines looked like messages and were passed over", summary.passed_over)
    });
    Ok(passed_over.into_iter().collect())
}

/// Whether a path is a folder that `whyoom run` wrote, though it may have recorded nothing.
pub(crate) fn is_recording(path: &Path) -> bool {
    has_recorded(path) || path.join(ENDING).is_file()
}

/// Whether a path is a folder that something was recorded into.
pub(crate) fn has_recorded(path: &Path) -> bool {
    let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.any(|entry| {
        let name = entry.file_name();
        Path::new(&name).extension().is_some_and(|kind| kind == "part" || kind == "events")
    })
}
