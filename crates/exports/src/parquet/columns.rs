//! The columns: one line each. docs/import-export.md has the same list; `cargo xtask exports` compares them.

use std::{io::Write, sync::Arc};

use ::parquet::{
    basic::{LogicalType, Repetition, Type as PhysicalType},
    data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type},
    errors::Result,
    file::writer::SerializedRowGroupWriter,
    schema::types::{Type, TypePtr},
};

use super::rows::Facts;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number from 0 on: `UBIGINT` in SQL.
    Unsigned,
    /// A number of either sign: `BIGINT`.
    Signed,
    /// A small number: `INTEGER`.
    Small,
    /// Yes or no: `BOOLEAN`.
    Flag,
    /// Words: `VARCHAR`.
    Text,
}

/// A column.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Its numbers rise from row to row: then their differences are what is stored.
    pub(super) rises: bool,
    cell: fn(&Facts) -> Cell,
}

/// What a row has in a column.
pub(super) enum Cell {
    Nothing,
    Number(i64),
    Small(i32),
    Flag(bool),
    Text(ByteArray),
}

const fn column(name: &'static str, kind: Kind, cell: fn(&Facts) -> Cell) -> Column {
    Column { name, kind, rises: false, cell }
}

const fn rising(name: &'static str, kind: Kind, cell: fn(&Facts) -> Cell) -> Column {
    Column { name, kind, rises: true, cell }
}

/// Every column, in order.
pub(super) const COLUMNS: &[Column] = &[
    rising("event", Kind::Unsigned, |row| number(Some(row.number))),
    rising("time_ns", Kind::Signed, |row| number(Some(row.event.time.0))),
    column("process", Kind::Text, |row| text(row.process.as_ref())),
    column("thread", Kind::Unsigned, |row| number(Some(row.event.origin.thread.0.into()))),
    column("device", Kind::Small, |row| row.device.map_or(Cell::Nothing, Cell::Small)),
    column("context", Kind::Unsigned, |row| number(Some(row.event.origin.context.0.into()))),
    column("stream", Kind::Unsigned, |row| number(Some(row.stream))),
    column("pool", Kind::Text, |row| text(row.pool.as_ref())),
    column("action", Kind::Text, |row| text(Some(&row.action))),
    column("kind", Kind::Text, |row| text(row.kind.as_ref())),
    column("layer", Kind::Text, |row| text(row.layer.as_ref())),
    column("address", Kind::Unsigned, |row| number(row.address)),
    column("size", Kind::Unsigned, |row| number(row.size)),
    column("requested", Kind::Unsigned, |row| number(row.requested)),
    column("change", Kind::Signed, |row| row.change.map_or(Cell::Nothing, Cell::Number)),
    column("allocated", Kind::Unsigned, |row| number(row.allocated)),
    column("reserved", Kind::Unsigned, |row| number(row.reserved)),
    column("category", Kind::Text, |row| text(row.category.as_ref())),
    column("module", Kind::Text, |row| text(row.module.as_ref())),
    column("place", Kind::Text, |row| text(row.place.as_ref())),
    column("stack_id", Kind::Unsigned, |row| number(row.stack_id)),
    column("stack", Kind::Text, |row| text(row.stack.as_ref())),
    column("at", Kind::Text, |row| text(row.at.as_ref())),
    column("result", Kind::Small, |row| Cell::Small(row.event.result.0)),
    column("text", Kind::Text, |row| text(row.text.as_ref())),
    column("inferred", Kind::Flag, |row| Cell::Flag(row.inferred)),
];

/// The bits of a number; a reader knows that it has no sign.
fn number(number: Option<u64>) -> Cell {
    number.map_or(Cell::Nothing, |number| Cell::Number(number.cast_signed()))
}

fn text(text: Option<&ByteArray>) -> Cell {
    text.map_or(Cell::Nothing, |text| Cell::Text(text.clone()))
}

/// The file's schema. Any cell may be empty.
pub(super) fn schema() -> Result<TypePtr> {
    let fields = COLUMNS.iter().map(|column| {
        let integer = |is_signed| Some(LogicalType::integer(64, is_signed));
        let (physical, logical) = match column.kind {
            Kind::Unsigned => (PhysicalType::INT64, integer(false)),
            Kind::Signed => (PhysicalType::INT64, integer(true)),
            Kind::Small => (PhysicalType::INT32, None),
            Kind::Flag => (PhysicalType::BOOLEAN, None),
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(column.name, physical);
        let field = field.with_repetition(Repetition::OPTIONAL).with_logical_type(logical);
        Ok(Arc::new(field.build()?))
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("events").with_fields(fields).build()?))
}

/// Rows that wait to be written together, by column.
pub(super) struct Group {
    columns: Vec<(Values, Vec<i16>)>,
}

enum Values {
    Numbers(Vec<i64>),
    Small(Vec<i32>),
    Flags(Vec<bool>),
    Texts(Vec<ByteArray>),
}

impl Default for Group {
    fn default() -> Self {
        let values = |column: &Column| match column.kind {
            Kind::Unsigned | Kind::Signed => Values::Numbers(Vec::new()),
            Kind::Small => Values::Small(Vec::new()),
            Kind::Flag => Values::Flags(Vec::new()),
            Kind::Text => Values::Texts(Vec::new()),
        };
        Self { columns: COLUMNS.iter().map(|column| (values(column), Vec::new())).collect() }
    }
}

impl Group {
    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, defined)| defined.len())
    }

    pub(super) fn push(&mut self, row: &Facts) {
        for (column, (values, defined)) in COLUMNS.iter().zip(&mut self.columns) {
            let is_there = values.push((column.cell)(row));
            defined.push(i16::from(is_there));
        }
    }

    pub(super) fn write<W: Write + Send>(
        &self,
        rows: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        for (values, defined) in &self.columns {
            let Some(mut column) = rows.next_column()? else { break };
            let defined = Some(defined.as_slice());
            match values {
                Values::Numbers(all) => {
                    column.typed::<Int64Type>().write_batch(all, defined, None)?
                }
                Values::Small(all) => {
                    column.typed::<Int32Type>().write_batch(all, defined, None)?
                }
                Values::Flags(all) => column.typed::<BoolType>().write_batch(all, defined, None)?,
                Values::Texts(all) => {
                    column.typed::<ByteArrayType>().write_batch(all, defined, None)?
                }
            };
            column.close()?;
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        for (values, defined) in &mut self.columns {
            defined.clear();
            match values {
                Values::Numbers(all) => all.clear(),
                Values::Small(all) => all.clear(),
                Values::Flags(all) => all.clear(),
                Values::Texts(all) => all.clear(),
            }
        }
    }
}

impl Values {
    /// Whether there was anything to keep.
    fn push(&mut self, cell: Cell) -> bool {
        match (self, cell) {
            (Self::Numbers(all), Cell::Number(number)) => all.push(number),
            (Self::Small(all), Cell::Small(number)) => all.push(number),
            (Self::Flags(all), Cell::Flag(flag)) => all.push(flag),
            (Self::Texts(all), Cell::Text(text)) => all.push(text),
            _ => return false,
        }
        true
    }
}
