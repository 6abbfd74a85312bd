//! The clock of recordings.

/// Nanoseconds of the recording's clock.
#[inline]
pub(crate) fn now() -> u64 {
    whyoom_recording::now().0
}
