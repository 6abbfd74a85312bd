//! Out of memory as an answer like any other.

use anyhow::Context;
use cudarc::driver::{DriverError, sys::CUresult};

/// What the driver gave, or nothing where it had no memory left.
pub(super) fn unless_full<T>(
    what: &str,
    answer: Result<T, DriverError>,
) -> anyhow::Result<Option<T>> {
    match answer {
        Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
        other => other.map(Some).with_context(|| what.to_owned()),
    }
}
