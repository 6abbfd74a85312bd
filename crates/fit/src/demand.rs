//! What a run takes where nothing limits it.

use whyoom_allocators::{
    Run, SimulatedDevice,
    policies::pytorch::{PyTorch, PyTorchSettings},
    replay,
};

/// More than any device has.
const UNLIMITED: u64 = 1 << 46;

/// What a run takes where nothing limits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// The most that was live at a time, each tensor rounded up to 512 bytes.
    pub live: u64,
    /// The most that the allocator held.
    pub reserved: u64,
}

impl Demand {
    /// Of a run under the settings that it was recorded with.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let settings = PyTorchSettings::from_recorded(&run.settings);
        let mut device = SimulatedDevice::new(UNLIMITED);
        let outcome = replay(&run.workload, &mut PyTorch::new(settings), &mut device);
        Self { live: outcome.peak_live, reserved: outcome.peak_reserved }
    }
}
