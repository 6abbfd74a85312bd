//! An SQLite file that anybody may have made, opened so that it can do no harm.
//!
//! Nothing is written, nothing beside the file is read, views and triggers are off, and the work that SQLite may
//! do is bounded by the file's size.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};

use super::NsysError;

/// Steps of SQLite's machine for each byte of the file: an honest one takes less than a tenth.
const STEPS_A_BYTE: u64 = 50;
/// And so many for any file.
const STEPS: u64 = 5_000_000;
/// After so many the count is looked at.
const STEPS_AT_ONCE: i32 = 100_000;
/// The longest text that is read.
const LONGEST_TEXT: u64 = 1 << 20;
/// SQLite's own memory: sorting takes disk beyond it.
const MOST_MEMORY: u64 = 256 << 20;
/// More tables than any version has.
const MOST_TABLES: usize = 4096;

/// A database with its tables' columns.
pub(super) struct Database {
    pub(super) connection: Connection,
    tables: BTreeMap<String, BTreeSet<String>>,
}

impl Database {
    pub(super) fn open(path: &Path, length: u64) -> Result<Self, NsysError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(address_of(path), flags)?;
        restrict(&mut connection, length)?;
        let tables = columns_by_table(&connection)?;
        Ok(Self { connection, tables })
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether a table has all of these columns.
    pub(super) fn has_columns(&self, table: &str, columns: &[&str]) -> bool {
        let own = self.tables.get(table);
        own.is_some_and(|own| columns.iter().all(|column| own.contains(*column)))
    }

    /// A column for a query: versions that lack it tell nothing.
    pub(super) fn column(&self, table: &str, column: &str) -> String {
        match self.has_columns(table, &[column]) {
            true => format!("{table}.\"{column}\""),
            false => "NULL".to_owned(),
        }
    }
}

/// The file as SQLite's address of it: one that is not written to, whatever lies beside it.
fn address_of(path: &Path) -> String {
    // In an address a drive of Windows stands behind a root, and its folders behind strokes of the usual kind.
    let windows = cfg!(windows);
    let root = if windows && path.is_absolute() { "/" } else { "" };
    let mut address = format!("file:{root}");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                address.push(char::from(*byte));
            }
            b'\\' if windows => address.push('/'),
            // Writing to a String cannot fail.
            _ => _ = write!(address, "%{byte:02x}"),
        }
    }
    address + "?immutable=1"
}

fn restrict(connection: &mut Connection, length: u64) -> rusqlite::Result<()> {
    for (switch, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(switch, on)?;
    }
    let longest = i32::try_from(length.clamp(1 << 16, LONGEST_TEXT)).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, longest)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
    let mut steps = STEPS.saturating_add(length.saturating_mul(STEPS_A_BYTE));
    let spent = move || {
        steps = steps.saturating_sub(STEPS_AT_ONCE.unsigned_abs().into());
        steps == 0
    };
    connection.progress_handler(STEPS_AT_ONCE, Some(spent))?;
    connection.execute_batch(&format!(
        "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA hard_heap_limit = {MOST_MEMORY};"
    ))
}

/// The columns of each ordinary table: virtual ones would run code of extensions.
fn columns_by_table(
    connection: &Connection,
) -> rusqlite::Result<BTreeMap<String, BTreeSet<String>>> {
    let mut names = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND upper(sql) NOT LIKE 'CREATE VIRTUAL%'",
    )?;
    let names = names.query_map([], |row| row.get::<_, String>(0))?;
    let mut tables = BTreeMap::new();
    for name in names.take(MOST_TABLES) {
        let name = name?;
        let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?)")?;
        let columns = columns.query_map([&name], |row| row.get::<_, String>(0))?;
        tables.insert(name, columns.collect::<Result<_, _>>()?);
    }
    Ok(tables)
}
