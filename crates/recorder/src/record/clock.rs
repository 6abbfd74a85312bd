//! The clock of recordings.

/// Nanoseconds of it.
#[inline]
pub(crate) fn now() -> u64 {
    whyoom_recording::now().0
}
