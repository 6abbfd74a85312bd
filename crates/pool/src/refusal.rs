//! The codes with which a driver refuses.

use std::fmt;

/// What a driver answers where it refuses: its own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub u32);

impl Refusal {
    /// There is no memory left.
    pub const OUT_OF_MEMORY: Self = Self(2);
    /// Ours, no driver's: a lane was closed while a request was on its way to it.
    pub(crate) const CLOSED: Self = Self(u32::MAX);
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        whyoom_gpu::driver::Code(self.0).fmt(f)
    }
}
