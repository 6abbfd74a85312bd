//! Why the driver cannot be asked here, and what to do about it here.

use anyhow::anyhow;
use whyoom_doctor::advice;
use whyoom_gpu::GpuError;

/// The error with what is to be done in this place.
pub(crate) fn with_advice(error: GpuError, command: &str) -> anyhow::Error {
    match (advice(&error), &error) {
        (Some(advice), _) => anyhow!("{error}. {advice}"),
        (None, GpuError::NoLibrary(_)) => {
            anyhow!("{error}. To try this command without a GPU: whyoom lab run -- {command}")
        }
        (None, _) => error.into(),
    }
}
