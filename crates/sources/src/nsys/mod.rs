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

use std::path::Path;

use database::Database;
pub use error::NsysError;
use import::Import;
use machine::Machine;
use rows::{FailedCall, MarkRow, MemoryRow, Peeked};
use stacks::Stacks;
use whyoom_trace::{EventSink, Tables};

/// What an import found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NsysSummary {
    /// Allocations.
    pub allocations: u64,
    /// Calls that returned that memory ran out.
    pub failures: u64,
    /// Those after which the process went on to allocate.
    pub recovered: u64,
    /// Frees of memory that the report does not show being allocated.
    pub unmatched: u64,
    /// Rows of processes or devices beyond the ones that are told apart.
    pub passed_over: u64,
    /// Whether any allocation has a call stack.
    pub stacks: bool,
    /// Whether a log that was not yet written into the file lies beside it.
    pub unfinished: bool,
}

impl NsysSummary {
    /// What is worth saying of it to whoever reads the figures.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.failures > 0 {
            notes.push(
                "the report does not tell how much the call that failed had asked for".to_owned(),
            );
        }
        if self.recovered > 0 {
            notes.push(format!(
                "after {} of {} calls that failed the program went on to allocate: a caching allocator gives its \
                 cache back and asks again",
                self.recovered, self.failures
            ));
        }
        if !self.stacks && self.allocations > 0 {
            notes.push(
                "it has no call stacks of allocations: nsys profile --cudabacktrace=memory records them"
                    .to_owned(),
            );
        }
        if self.unmatched > 0 {
            notes.push(format!(
                "it frees memory that was allocated before it begins ({} times): more was held than it shows",
                self.unmatched
            ));
        }
        if self.passed_over > 0 {
            notes.push(format!(
                "{} events are of more processes or devices than are told apart, and were passed over",
                self.passed_over
            ));
        }
        if self.unfinished {
            notes.push(
                "a file -wal lies beside it with what was not yet written into it; that was not read: export again"
                    .to_owned(),
            );
        }
        notes
    }
}

/// Whether a file that starts with these bytes is an SQLite database.
#[must_use]
pub fn is_sqlite(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(b"SQLite format 3\0")
}

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
