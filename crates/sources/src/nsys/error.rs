//! Why an export was not imported.

use thiserror::Error;

/// Why an export of Nsight Systems was not imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NsysError {
    /// Another program's database.
    #[error(
        "it is an SQLite database, and no export of Nsight Systems: it has no table {0}. Make one with \
         nsys export --type sqlite -o out.sqlite report.nsys-rep"
    )]
    NotAnExport(&'static str),
    /// The memory was not traced.
    #[error(
        "this report of Nsight Systems holds no memory events (no table CUDA_GPU_MEMORY_USAGE_EVENTS): profile \
         with nsys profile --cuda-memory-usage=true PROGRAM, then export again with nsys export --type sqlite"
    )]
    NoMemoryEvents,
    /// A column without which nothing can be told.
    #[error(
        "its table {table} has no column {column}: it was exported by a version of Nsight Systems that this \
         program does not know. Export the report again with another: nsys export --type sqlite"
    )]
    NoColumn {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
    /// To read it takes more than its size allows.
    #[error("refused: to read it takes far more work than a database of its size should")]
    TooMuchWork,
    /// It is damaged, or could not be opened.
    #[error("the database cannot be read ({0}): is the file complete? Run nsys export again")]
    Database(String),
}

impl From<rusqlite::Error> for NsysError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Self::TooMuchWork,
            _ => Self::Database(error.to_string()),
        }
    }
}
