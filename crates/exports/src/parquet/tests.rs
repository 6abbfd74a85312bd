use ::parquet::{
    file::{
        metadata::RowGroupMetaData,
        reader::{FileReader, SerializedFileReader},
    },
    record::{Field, Row},
};
use whyoom_trace::{Action, ContextId, StackId};

use super::{COLUMNS, FORMAT, ROWS_PER_GROUP, SCHEMA, SCHEMA_VERSION};
use crate::test_trace::{MIB, TestTrace};

fn open(run: &TestTrace) -> SerializedFileReader<bytes::Bytes> {
    let (bytes, _) = run.export(&FORMAT, None).unwrap();
    SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap()
}

fn rows(run: &TestTrace) -> Vec<Row> {
    open(run).get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn cell(row: &Row, name: &str) -> Field {
    let mut cells = row.get_column_iter();
    cells.find(|(column, _)| *column == name).map(|(_, field)| field.clone()).unwrap()
}

fn change(row: &Row) -> i64 {
    match cell(row, "change") {
        Field::Long(bytes) => bytes,
        _ => 0,
    }
}

#[test]
fn changes_by_place_add_up_to_what_is_in_use() {
    let rows = rows(&TestTrace::training());
    let of_place = |place: &str| {
        let own = rows.iter().filter(|row| cell(row, "place") == Field::Str(place.to_owned()));
        own.map(change).sum::<i64>()
    };
    assert_eq!(of_place("me/model.py:5 __init__"), 24 * MIB as i64);
    assert_eq!(of_place("me/model.py:9 forward"), 4 * MIB as i64, "8 came and went");
    let allocated = rows.iter().map(|row| match cell(row, "allocated") {
        Field::ULong(bytes) => bytes,
        _ => 0,
    });
    assert_eq!(allocated.max(), Some(32 * MIB));
}

#[test]
fn what_nobody_saw_has_a_row_that_says_so() {
    let mut run = TestTrace::new();
    run.block(StackId(0), 1, 2);
    run.block(StackId(0), 1, 3);
    run.take(StackId(0), 9, 1);
    run.take(StackId(0), 8, 1);
    run.push(StackId(0), Action::ContextDestroy).origin.context = ContextId(0);
    let test_trace: Vec<_> = rows(&run)
        .iter()
        .map(|row| {
            (cell(row, "action").to_string(), change(row), cell(row, "inferred").to_string())
        })
        .collect();
    let mib = MIB as i64;
    let expected = [
        ("block-alloc", 2 * mib, "false"),
        ("block-free", -2 * mib, "true"),
        ("block-alloc", 3 * mib, "false"),
        ("alloc", mib, "false"),
        ("alloc", mib, "false"),
        ("free", -mib, "true"),
        ("free", -mib, "true"),
        ("context-destroy", 0, "false"),
    ];
    let expected: Vec<_> = expected
        .map(|(action, change, inferred)| (format!("\"{action}\""), change, inferred.to_owned()))
        .to_vec();
    assert_eq!(test_trace, expected);
}

#[test]
fn the_schema_is_named_and_groups_are_bounded() {
    let file = open(&TestTrace::crowd(ROWS_PER_GROUP as u64 + 1));
    let metadata = file.metadata();
    let rows: Vec<i64> = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(rows, [ROWS_PER_GROUP as i64, 1]);
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    let value = |key: &str| pairs.iter().find(|pair| pair.key == key).unwrap().value.clone();
    assert_eq!(value("whyoom.schema").as_deref(), Some(SCHEMA));
    assert_eq!(value("whyoom.version").as_deref(), Some(SCHEMA_VERSION));
    let columns = metadata.file_metadata().schema().get_fields();
    let names: Vec<_> = columns.iter().map(|field| field.name().to_owned()).collect();
    assert_eq!(names, COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>());
}
