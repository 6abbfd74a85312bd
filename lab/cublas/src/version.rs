//! Which release the stand-ins say they are: that of the PyTorch 2.15 wheels for CUDA 13.2, and as
//! CUDA 12 that of the PyTorch 2.6 wheels for CUDA 12.4.

use crate::status::Failure;

/// Major, minor and patch, as `nvidia-cublas` 13.4.1 and `nvidia-cublas-cu12` 12.4.5.8 answer.
pub const PARTS: [i32; 3] = if cfg!(cuda12) { [12, 4, 5] } else { [13, 4, 1] };

/// The same in one number.
pub const NUMBER: i32 = PARTS[0] * 10_000 + PARTS[1] * 100 + PARTS[2];

/// The CUDA runtime that release says it was built with, in the numbering of
/// `cudaRuntimeGetVersion`.
pub const RUNTIME: usize = if cfg!(cuda12) { 12_030 } else { 13_000 };

/// One part: 0 the major version, 1 the minor version, 2 the patch level.
pub fn part(which: u32) -> Result<i32, Failure> {
    PARTS.get(which as usize).copied().ok_or(Failure::InvalidValue)
}
