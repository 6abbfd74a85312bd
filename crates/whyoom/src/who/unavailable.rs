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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_the_lab_is_named() {
        let missing = || GpuError::NoLibrary("not found".to_owned());
        let told = with_advice(missing(), "whyoom top").to_string();
        assert!(told.contains("lab run -- whyoom top") || advice(&missing()).is_some(), "{told}");
    }
}
