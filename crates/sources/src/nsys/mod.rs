//! The importer of Nsight Systems' SQLite exports (`nsys export --type sqlite`), by the schema that its
//! documentation gives.
//!
//! A report that was made with `--cuda-memory-usage=true` tells every allocation and free that went to the
//! driver, which pool served it, which calls returned that memory ran out, and where it was traced too
//! (`--cudabacktrace=memory`) the call stacks. It does not tell how much a call that failed had asked for, nor
//! what a caching allocator gave to the program out of what it had taken.

mod database;
mod error;
mod global_id;
mod import;
mod machine;
mod marks;
mod rows;
mod stacks;
mod summary;

use std::path::Path;

use database::Database;
pub use error::NsysError;
use import::Import;
use machine::Machine;
use rows::{FailedCall, MarkRow, MemoryRow, Peeked};
use stacks::Stacks;
pub use summary::NsysSummary;
use whyoom_trace::{EventSink, Tables};

/// Imports an export. It is a file of pages that refer to each other, so that it takes a path.
///
/// # Errors
/// When the file is no export, has no memory events, is damaged, or asks for work out of proportion to its size.
pub fn import(
    path: &Path,
    name: &str,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<NsysSummary, NsysError> {
    let length =
        std::fs::metadata(path).map_err(|error| NsysError::Database(error.to_string()))?.len();
    let database = Database::open(path, length)?;
    let memory_query = rows::memory_query(&database)?;
    let machine = Machine::read(&database)?;
    let stacks = Stacks::read(&database, tables)?;
    let connection = &database.connection;
    let prepare = |query: Option<String>| query.map(|query| connection.prepare(&query)).transpose();
    let mut memory = connection.prepare(&memory_query)?;
    let mut failures = prepare(rows::failures_query(&database))?;
    let mut marks = prepare(rows::marks_query(&database))?;
    let mut memory = Peeked::new(Some(memory.query([])?), MemoryRow::read)?;
    let failures = failures.as_mut().map(|query| query.query([])).transpose()?;
    let mut failures = Peeked::new(failures, FailedCall::read)?;
    let marks = marks.as_mut().map(|query| query.query([])).transpose()?;
    let mut marks = Peeked::new(marks, MarkRow::read)?;
    let mut import = Import::new(name, &machine, stacks, tables, sink);
    loop {
        let times = [
            memory.peek().map(|row| row.time),
            marks.peek().map(|row| row.time),
            failures.peek().map(|row| row.end),
        ];
        // Of several at one time, what was allocated comes before what failed.
        let Some(first) = times.into_iter().flatten().min() else { break };
        match times.iter().position(|time| *time == Some(first)) {
            Some(0) => import.memory(&memory.take()?.unwrap_or_default()),
            Some(1) => import.mark(&marks.take()?.unwrap_or_default()),
            _ => import.failure(&failures.take()?.unwrap_or_default()),
        }
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push("-wal");
    let unfinished = std::fs::metadata(beside).is_ok_and(|file| file.len() > 0);
    Ok(NsysSummary { unfinished, ..import.summary() })
}

#[cfg(test)]
mod tests;
