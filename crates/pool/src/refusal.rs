//! The codes with which a driver refuses.

use std::fmt;

/// What a driver answers where it refuses: its own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub u32);

impl Refusal {
    /// There is no memory left.
    pub const OUT_OF_MEMORY: Self = Self(2);
    /// Memory could not be mapped: what describes mappings has no room either.
    pub(crate) const MAP_FAILED: Self = Self(205);
    /// Ours, no driver's: a lane was closed while a request was on its way to it.
    pub(crate) const CLOSED: Self = Self(u32::MAX);
    /// Ours: the device gave pages and has no room to map them.
    pub(crate) const UNMAPPED: Self = Self(u32::MAX - 1);
}

impl Refusal {
    /// Whether the device lacks room.
    pub(crate) fn is_for_want_of_room(self) -> bool {
        matches!(self, Self::OUT_OF_MEMORY | Self::MAP_FAILED)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        whyoom_gpu::driver::Code(self.0).fmt(f)
    }
}
