//! Parquet: every event as a row, for SQL.
//!
//! A row of memory that was given back names who had asked for it, so that a sum over rows is what is in
//! use, by whatever is asked. Rows are written in groups of bounded size, in the order of the events.

mod columns;
mod rows;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use ::parquet::{
    basic::{Compression, Encoding, ZstdLevel},
    file::{
        metadata::{KeyValue, SortingColumn},
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::types::ColumnPath,
};
use columns::{COLUMNS, Group, schema};
use rows::{Facts, Texts};
use whyoom_trace::{Event, EventSink, Tables};

use crate::{
    error::ExportError,
    format::{Export, Exported, Format, Latch, Target},
    run::Run,
};

/// Parquet.
pub(crate) const FORMAT: Format = Format {
    name: "parquet",
    extensions: &[".parquet"],
    opened_by: "duckdb -c \"FROM 'FILE'\"",
    of_one_process: false,
    start: |target| Ok(Box::new(ParquetExport::start(target)?)),
};

/// The schema's name, in the file's metadata under `whyoom.schema`.
pub const SCHEMA: &str = "whyoom.events";
/// Its version, under `whyoom.version`. A change that could break a reader raises it; a new column does
/// not.
pub const SCHEMA_VERSION: &str = "1";

/// Rows of a group: large enough to compress, small enough to hold.
const ROWS_PER_GROUP: usize = 1 << 17;
/// Distinct values of a column up to this size are stored once: stacks are long and few.
const DICTIONARY_BYTES: usize = 32 << 20;

struct ParquetExport {
    writer: SerializedFileWriter<Box<dyn std::io::Write + Send>>,
    group: Group,
    run: Run,
    texts: Texts,
    latch: Latch,
}

impl ParquetExport {
    fn start(target: Target) -> Result<Self, ExportError> {
        let writer = SerializedFileWriter::new(target.out, schema()?, Arc::new(properties()?))?;
        Ok(Self {
            writer,
            group: Group::default(),
            run: Run::default(),
            texts: Texts::default(),
            latch: Latch::default(),
        })
    }

    fn write_group(&mut self) {
        let (writer, group) = (&mut self.writer, &mut self.group);
        self.latch.attempt(|| {
            let mut rows = writer.next_row_group()?;
            group.write(&mut rows)?;
            rows.close()?;
            Ok(())
        });
        self.group.clear();
    }
}

impl EventSink for ParquetExport {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.run.event(event, tables);
        let named = (event.origin.process, event.origin.device);
        // What an event ends unseen comes before what it says itself. One that ends several pieces of
        // memory has a row for each.
        let changes = self.run.changes().iter();
        let (unseen, own): (Vec<_>, Vec<_>) = changes.partition(|change| change.unseen);
        let said = own.first().copied();
        let rest = own.iter().skip(1).copied();
        let rows = unseen.into_iter().map(Some).chain([said]).chain(rest.map(Some));
        for change in rows {
            let facts = Facts::of(event, change, &self.run, (named, tables), &mut self.texts);
            self.group.push(&facts);
        }
        if self.group.rows() >= ROWS_PER_GROUP {
            self.write_group();
        }
    }
}

impl Export for ParquetExport {
    fn finish(mut self: Box<Self>, _: &Tables) -> Result<Exported, ExportError> {
        if self.group.rows() > 0 {
            self.write_group();
        }
        self.latch.finish()?;
        self.writer.finish()?;
        self.writer.inner_mut().flush()?;
        Ok(Exported::default())
    }
}

/// What compresses is C, which a browser cannot have.
fn compression() -> Result<Compression, ExportError> {
    if cfg!(target_family = "wasm") {
        return Ok(Compression::UNCOMPRESSED);
    }
    Ok(Compression::ZSTD(ZstdLevel::try_new(3)?))
}

fn properties() -> Result<WriterProperties, ExportError> {
    let metadata = [("whyoom.schema", SCHEMA), ("whyoom.version", SCHEMA_VERSION)];
    let metadata = metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
    let by_event = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
    let mut properties = WriterProperties::builder()
        .set_compression(compression()?)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_created_by(format!("whyoom {}", env!("CARGO_PKG_VERSION")))
        .set_sorting_columns(Some(vec![by_event]))
        .set_key_value_metadata(Some(metadata.to_vec()));
    for column in COLUMNS.iter().filter(|column| column.rises) {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}
