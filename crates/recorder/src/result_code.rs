//! What driver functions answer with.

/// An answer; 0 is success.
pub(crate) type Code = u32;

/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) const OUT_OF_MEMORY: Code = 2;

/// The answer of a hook whose real function does not exist (`CUDA_ERROR_NOT_FOUND`). Only a program
/// that is linked against a function which its driver lacks gets here; without us it had not started.
pub(crate) const NOT_FOUND: Code = 500;
