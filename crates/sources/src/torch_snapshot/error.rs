//! Why a snapshot was not imported.

use thiserror::Error;

use crate::pickle::PickleError;

/// Why a snapshot was not imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The pickle itself was not read.
    #[error(transparent)]
    Pickle(#[from] PickleError),
    /// It is a pickle of something else.
    #[error(
        "this pickle is not a PyTorch memory snapshot: {0}. Make one with \
         torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"
    )]
    NotASnapshot(&'static str),
    /// A part of it is not what a snapshot has in that place.
    #[error(
        "this pickle is not a PyTorch memory snapshot that is known here: {0} is not what it should be. Where \
         torch.cuda.memory._dump_snapshot of a newer PyTorch made it, a newer whyoom reads it; \
         whyoom run -- PROGRAM needs no snapshot"
    )]
    WrongKind(&'static str),
    /// It refers to the same part over and over.
    #[error("refused: the file unfolds into more records than it has bytes")]
    Unfolds,
}
