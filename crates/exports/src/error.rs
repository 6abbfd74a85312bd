//! Why an export failed.

use std::io;

use ::parquet::errors::ParquetError;

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The output could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The Parquet writer failed.
    #[error("Parquet: {0}")]
    Parquet(ParquetError),
    /// There is nothing in the input that the format could tell.
    #[error(
        "it contains no allocations, and {format} exports nothing else; a recording of whyoom run \
         or a snapshot of torch.cuda.memory._dump_snapshot contains them"
    )]
    Nothing {
        /// The format.
        format: &'static str,
    },
    /// The process that was asked for is not in the input.
    #[error("unknown process '{asked}'; use one of: {known}")]
    NoSuchProcess {
        /// What was asked for.
        asked: String,
        /// Some of those that there are.
        known: String,
    },
}

/// A full disk is one, whoever wrote.
impl From<ParquetError> for ExportError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => Self::Write(*error),
                Err(error) => Self::Parquet(ParquetError::External(error)),
            },
            other => Self::Parquet(other),
        }
    }
}
