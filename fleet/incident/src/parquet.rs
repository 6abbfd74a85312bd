//! Incidents as Parquet: one immutable file of one or more, without Arrow.

use std::{collections::HashSet, panic::UnwindSafe, sync::Arc};

use ::parquet::{
    basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        reader::{FileReader as _, SerializedFileReader},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    record::{Field, Row},
    schema::types::{Type, TypePtr},
};
use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{COLUMNS, Column, Incident, Kind, SCHEMA, SCHEMA_VERSION, footer, pages, quiet};

/// The columns that hold a document each.
const DOCUMENTS: [&str; 2] = ["verdict", "who"];
/// More memory than this is not taken for the incidents of one file.
const MOST: u64 = 2 << 30;
/// Maximum memory of the incidents of one file that is read without its documents, in bytes. Chosen, not measured:
/// 500,000 incidents of about 1 KB (docs/dev/scale.md).
const MAX_BRIEF_BYTES: u64 = 512 << 20;
/// The pages that are unfolded at a time may take the memory of the incidents, divided by this number. Chosen, not
/// measured.
const PART_OF_PAGES: u64 = 4;

/// Why incidents could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is no Parquet file, or a damaged one.
    #[error("not a readable Parquet file: {0}")]
    Parquet(#[from] ParquetError),
    /// Its rows are no incidents.
    #[error("not incidents of this version: {0}")]
    Row(#[from] serde_json::Error),
    /// It says that it is something else.
    #[error("{found} is not {SCHEMA} {SCHEMA_VERSION}")]
    Schema {
        /// What it says.
        found: String,
    },
    /// The reader of the format gave up on it.
    #[error("a damaged Parquet file")]
    Damaged,
    /// It unfolds to more than a file of incidents has.
    #[error("a Parquet file that unfolds to more than {most} bytes")]
    TooMuch {
        /// What would be taken.
        most: u64,
    },
}

/// Writes a file.
///
/// # Errors
/// Where the writer refuses, which it does for no incident.
pub fn write(incidents: &[Incident]) -> Result<Vec<u8>, FileError> {
    let rows = incidents.iter().map(as_object).collect::<Result<Vec<_>, _>>()?;
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema()?, Arc::new(properties()?))?;
    let mut group = writer.next_row_group()?;
    for column in COLUMNS {
        write_column(&mut group, column, &rows)?;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

fn as_object(incident: &Incident) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::to_value(incident)? {
        Value::Object(object) => Ok(object),
        _ => Ok(Map::new()),
    }
}

fn properties() -> Result<WriterProperties, ParquetError> {
    let told = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by("whyoom-fleet".to_owned())
        .set_key_value_metadata(Some(vec![
            told("whyoom.schema", SCHEMA),
            told("whyoom.version", SCHEMA_VERSION),
        ]))
        .build())
}

fn schema() -> Result<TypePtr, ParquetError> {
    let fields = COLUMNS.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder("incident").with_fields(fields).build()?))
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        Kind::Number => (PhysicalType::INT64, None),
        Kind::Flag => (PhysicalType::BOOLEAN, None),
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let builder = Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition);
    Ok(Arc::new(builder.build()?))
}

fn write_column<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    rows: &[Map<String, Value>],
) -> Result<(), ParquetError> {
    match column.kind {
        Kind::Time | Kind::Number => {
            write_values::<Int64Type, W>(group, column, rows, Value::as_i64)
        }
        Kind::Flag => write_values::<BoolType, W>(group, column, rows, Value::as_bool),
        Kind::Text => write_values::<ByteArrayType, W>(group, column, rows, |value| {
            value.as_str().map(ByteArray::from)
        }),
    }
}

fn write_values<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    rows: &[Map<String, Value>],
    read: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let cells: Vec<Option<T::T>> =
        rows.iter().map(|row| row.get(column.name).and_then(&read)).collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    let mut writer = group.next_column()?.ok_or_else(|| ParquetError::EOF(column.name.into()))?;
    let levels = (!column.required).then_some(levels.as_slice());
    writer.typed::<T>().write_batch(&values, levels, None)?;
    writer.close()
}

/// Reads a file. What others wrote is read as such: a damaged one is an error, whatever is wrong with it.
///
/// # Errors
/// Where it is no file of incidents of this version.
pub fn read(bytes: Bytes) -> Result<Vec<Incident>, FileError> {
    read_within(bytes, MOST)
}

/// Reads a file without its two documents, which take most of it: for who counts. They are empty then.
///
/// # Errors
/// Returns an error if the file is no file of incidents of this version, or has more than 512 MiB of them.
pub fn read_briefly(bytes: Bytes) -> Result<Vec<Incident>, FileError> {
    caught(|| read_rows(bytes, MAX_BRIEF_BYTES, &DOCUMENTS))
}

/// Reads a file into no more than about `most` bytes.
///
/// # Errors
/// Also where it has more.
pub fn read_within(bytes: Bytes, most: u64) -> Result<Vec<Incident>, FileError> {
    caught(|| read_rows(bytes, most, &[]))
}

/// Runs the reader of the format, which is known to panic on some damaged files. A panic becomes an error.
fn caught<T>(read: impl FnOnce() -> Result<T, FileError> + UnwindSafe) -> Result<T, FileError> {
    quiet::catch(read).unwrap_or(Err(FileError::Damaged))
}

/// Returns true if bytes begin and end as a Parquet file does, with a footer that can be read.
#[must_use]
pub fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(footer::MAGIC) && footer::is_sound(bytes)
}

fn read_rows(bytes: Bytes, most: u64, left_out: &[&str]) -> Result<Vec<Incident>, FileError> {
    let whole = bytes.clone();
    let reader = open(bytes)?;
    let file = reader.metadata().file_metadata();
    check_schema(file.key_value_metadata())?;
    // No page says how long the list of a repeated field is. Of columns with the same name, the reader of the format
    // opens the last one for each field.
    let mut names = HashSet::new();
    let are_plain = file.schema().get_fields().iter().all(|field| {
        field.is_primitive()
            && field.get_basic_info().repetition() != Repetition::REPEATED
            && names.insert(field.name())
    });
    if !are_plain {
        return Err(FileError::Damaged);
    }
    let unfolded = pages::unfolded(&whole, reader.metadata(), left_out);
    let unfolded = unfolded.ok_or(FileError::Damaged)?;
    if unfolded > most / PART_OF_PAGES {
        return Err(FileError::TooMuch { most });
    }
    let (mut all, mut taken) = (Vec::new(), 0);
    for row in reader.get_row_iter(Some(without(file.schema(), left_out)?))? {
        // A text that many rows share is in each incident afterwards.
        let incident = incident(row?, left_out)?;
        taken += incident.memory_bytes();
        if taken > most {
            return Err(FileError::TooMuch { most });
        }
        all.push(incident);
    }
    Ok(all)
}

fn open(bytes: Bytes) -> Result<SerializedFileReader<Bytes>, FileError> {
    match footer::is_sound(&bytes) {
        true => Ok(SerializedFileReader::new(bytes)?),
        false => Err(FileError::Damaged),
    }
}

/// The columns of a file that this version does not know.
///
/// # Errors
/// Where it is no Parquet file.
pub fn unknown_columns(bytes: Bytes) -> Result<Vec<String>, FileError> {
    caught(|| {
        let reader = open(bytes)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let names = schema.columns().iter().map(|column| column.name().to_owned());
        let is_known = |name: &String| COLUMNS.iter().any(|column| column.name == name);
        Ok(names.filter(|name| !is_known(name)).collect())
    })
}

fn check_schema(told: Option<&Vec<KeyValue>>) -> Result<(), FileError> {
    let value = |key: &str| {
        let found = told.into_iter().flatten().find(|one| one.key == key);
        found.and_then(|one| one.value.clone()).unwrap_or_default()
    };
    let found = format!("{} {}", value("whyoom.schema"), value("whyoom.version"));
    if found == format!("{SCHEMA} {SCHEMA_VERSION}") {
        Ok(())
    } else {
        Err(FileError::Schema { found })
    }
}

/// A schema without some of its columns.
fn without(schema: &Type, left_out: &[&str]) -> Result<Type, FileError> {
    let is_kept = |field: &&Arc<Type>| !left_out.contains(&field.name());
    let fields = schema.get_fields().iter().filter(is_kept).cloned().collect();
    Ok(Type::group_type_builder(schema.name()).with_fields(fields).build()?)
}

fn incident(row: Row, left_out: &[&str]) -> Result<Incident, FileError> {
    let is_known = |name: &str| COLUMNS.iter().any(|column| column.name == name);
    let cells = row.into_columns().into_iter().filter(|(name, _)| is_known(name));
    let cells = cells.map(|(name, field)| (name, value(field)));
    let empty = COLUMNS.iter().filter(|column| column.required && left_out.contains(&column.name));
    let empty = empty.map(|column| (column.name.to_owned(), Value::from("")));
    let object: Map<String, Value> = empty.chain(cells).collect();
    Ok(serde_json::from_value(Value::Object(object))?)
}

fn value(field: Field) -> Value {
    match field {
        Field::Long(number) | Field::TimestampMicros(number) => number.into(),
        Field::Bool(flag) => flag.into(),
        Field::Str(text) => text.into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Source;

    fn some() -> Incident {
        Incident {
            id: Incident::id_of(&["a"]),
            time: 1_794_972_099_246_526,
            cluster: "lab".into(),
            node: "n1".into(),
            source: Source::Log,
            file: "train.log".into(),
            cause: "growth".into(),
            strength: "explains".into(),
            headline: "it grows".into(),
            call_site: Some("train.py:4".into()),
            remedy: None,
            device: Some(0),
            requested_bytes: Some(1 << 30),
            capacity_bytes: None,
            free_bytes: None,
            allocated_bytes: None,
            reserved_bytes: None,
            scheduler: Some("kubernetes".into()),
            namespace: Some("team".into()),
            workload: None,
            pod: None,
            container: None,
            job: None,
            user: None,
            run_seconds: Some(3600),
            gpus: None,
            has_history: false,
            served_by: None,
            version: "0.1.0".into(),
            verdict: "{}".into(),
            who: None,
        }
    }

    #[test]
    fn the_columns_are_the_fields_in_order() {
        let text = serde_json::to_string(&some()).expect("it is written");
        let fields = text.matches("\":").count();
        assert_eq!(fields, COLUMNS.len(), "{text}");
        let mut from = 0;
        for column in COLUMNS {
            let at = text[from..].find(&format!("\"{}\":", column.name));
            from += at.unwrap_or_else(|| panic!("{} is not the next field", column.name));
        }
        for column in COLUMNS {
            let mut object = as_object(&some()).expect("it is written");
            object.insert(column.name.to_owned(), Value::Null);
            let without = serde_json::from_value::<Incident>(Value::Object(object));
            assert_eq!(without.is_err(), column.required, "{}", column.name);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut other = some();
        other.remedy = Some("export A=1 # \u{1f600}".into());
        other.has_history = true;
        other.who = Some("{}".into());
        let all = [some(), other];
        let bytes = write(&all).expect("it is written");
        assert!(unknown_columns(bytes.clone().into()).expect("it is read").is_empty());
        assert_eq!(read(bytes.clone().into()).expect("it is read"), all);
        assert!(is_parquet(&bytes));
        for other in [&b"root:x:0:0:"[..], b"PAR1PAR1", b"", &bytes[1..], &bytes[..bytes.len() - 1]]
        {
            assert!(!is_parquet(other), "{} bytes", other.len());
        }
        let brief = read_briefly(bytes.into()).expect("it is read");
        let empty = |one: &Incident| Incident { verdict: String::new(), who: None, ..one.clone() };
        assert_eq!(brief, all.each_ref().map(empty));
        assert_eq!(read(write(&[]).expect("it is written").into()).expect("it is read"), []);
    }

    #[test]
    fn a_file_that_unfolds_to_too_much_is_refused() {
        let long = Incident { verdict: "x".repeat(8 << 20), ..some() };
        let shared = Incident { verdict: "x".repeat(100 << 10), ..some() };
        for incidents in [vec![long], vec![shared; 100]] {
            let file = write(&incidents).expect("it is written");
            assert!(file.len() < 32 << 10, "{} bytes", file.len());
            let within = |most| read_within(file.clone().into(), most);
            assert!(matches!(within(4 << 20), Err(FileError::TooMuch { .. })));
            assert_eq!(within(64 << 20).expect("it is read"), incidents);
        }
    }

    #[test]
    fn documents_that_are_not_read_do_not_count() {
        let long = Incident { verdict: "x".repeat(8 << 20), ..some() };
        let file = Bytes::from(write(&[long]).expect("it is written"));
        let read = |left_out: &'static [&str]| read_rows(file.clone(), 1 << 20, left_out);
        assert!(matches!(read(&[]), Err(FileError::TooMuch { .. })));
        assert_eq!(read(&DOCUMENTS).expect("it is read").len(), 1);
    }

    #[test]
    fn memory_bytes_counts_each_text() {
        let texts = COLUMNS.iter().filter(|column| matches!(column.kind, Kind::Text));
        for column in texts.filter(|column| column.name != "source") {
            let with = |length: usize| {
                let mut object = as_object(&some()).expect("it is written");
                object.insert(column.name.to_owned(), "x".repeat(length).into());
                let incident: Incident =
                    serde_json::from_value(Value::Object(object)).expect("it is an incident");
                incident.memory_bytes()
            };
            assert_eq!(with(1000), with(0) + 1000, "{}", column.name);
        }
    }

    /// Writes one incident with one more column, whose only value is 1.
    fn with_another_column(name: &str, repetition: Repetition) -> Bytes {
        let another = Type::primitive_type_builder(name, PhysicalType::INT64);
        let another = another.with_repetition(repetition).build().expect("it is a type");
        let schema = schema().expect("it is a schema");
        let mut fields = schema.get_fields().to_vec();
        fields.push(Arc::new(another));
        let schema = Type::group_type_builder("incident").with_fields(fields).build();
        let schema = Arc::new(schema.expect("it is a schema"));
        let properties = Arc::new(properties().expect("they are properties"));
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema, properties).expect("it is begun");
        let mut group = writer.next_row_group().expect("it is begun");
        let rows = [as_object(&some()).expect("it is written")];
        for column in COLUMNS {
            write_column(&mut group, column, &rows).expect("it is written");
        }
        let mut column = group.next_column().expect("it is begun").expect("it is there");
        let levels = (repetition == Repetition::REPEATED).then_some([1]);
        let repeats = levels.map(|_| [0]);
        let (levels, repeats) =
            (levels.as_ref().map(<[i16; 1]>::as_slice), repeats.as_ref().map(<[i16; 1]>::as_slice));
        column.typed::<Int64Type>().write_batch(&[1], levels, repeats).expect("it is written");
        column.close().expect("it is written");
        group.close().expect("it is written");
        writer.close().expect("it is written");
        bytes.into()
    }

    #[test]
    fn repeated_fields_and_names_that_come_twice_are_refused() {
        let newer = with_another_column("newer", Repetition::REQUIRED);
        assert_eq!(read(newer).expect("it is read"), [some()]);
        for (name, repetition) in [("newer", Repetition::REPEATED), ("time", Repetition::REQUIRED)]
        {
            let read = read(with_another_column(name, repetition));
            assert!(matches!(read, Err(FileError::Damaged)), "{name}: {read:?}");
        }
    }

    /// What an earlier version wrote is read by every later one.
    #[test]
    fn a_file_of_version_1_is_read() {
        let file = include_bytes!("../../../tests/fixtures/incidents/version-1.parquet");
        let read = read(file.as_slice().into()).expect("it is read");
        assert_eq!(read, [some(), Incident { remedy: Some("export A=1".into()), ..some() }]);
    }

    #[test]
    fn another_schema_is_refused() {
        let file = crate::parquet::write(&[some()]).expect("it is written");
        let at = file.windows(16).rposition(|part| part == SCHEMA.as_bytes()).expect("it is named");
        let mut other = file.clone();
        other[at] = b'x';
        assert!(matches!(read(other.into()), Err(FileError::Schema { .. })));
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_an_error_or_incidents(at in 0_usize..4000, to in any::<u8>(), cut in 0_usize..4000) {
            let mut file = write(&[some(), some()]).expect("it is written");
            let length = file.len();
            file[at % length] = to;
            let _ = read(file.clone().into());
            file.truncate(cut % length);
            prop_assert!(read(file.into()).is_err());
        }
    }
}
