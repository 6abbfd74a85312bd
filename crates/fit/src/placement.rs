//! A run on a device of a given size.

use whyoom_allocators::{
    Run, SimulatedDevice,
    catalogue::SETTINGS,
    policies::pytorch::{AllocatorConf, PyTorch, PyTorchSettings, doubtful_keys},
    replay,
};

use crate::demand::Demand;

/// The settings that are tried where a run does not fit, the ones that people know first.
const KNOWN_SETTINGS: &[&str] =
    &["expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:8"];

/// What a device has for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The device's memory.
    pub total: u64,
    /// What the process has there outside PyTorch's allocator: its context, its libraries.
    pub outside: u64,
}

impl Room {
    /// What is left to the allocator.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.total.saturating_sub(self.outside)
    }
}

/// How a run ends on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It fits.
    Fits {
        /// The most that the allocator holds there.
        reserved: u64,
        /// Whether it has to give back cached memory on the way, which costs time.
        releases_cache: bool,
    },
    /// It fits with another setting of the allocator.
    FitsWith {
        /// As in `PYTORCH_CUDA_ALLOC_CONF`.
        setting: &'static str,
        /// The most that the allocator then holds.
        reserved: u64,
    },
    /// What is live at the peak alone is more than the room: no allocator can help.
    TooLarge,
    /// What is live would fit, but no setting that was tried brings it in.
    Fragmented,
}

impl Placement {
    /// Whether it fits as it is.
    #[must_use]
    pub fn fits(&self) -> bool {
        matches!(self, Self::Fits { .. })
    }
}

/// Replays a run in a room. What the run takes without a limit is worked out before, once for all rooms.
#[must_use]
pub fn place(run: &Run, demand: Demand, room: Room) -> Placement {
    let left = room.left();
    if demand.reserved <= left {
        return Placement::Fits { reserved: demand.reserved, releases_cache: false };
    }
    if demand.live > left {
        return Placement::TooLarge;
    }
    let mut recorded = PyTorchSettings::from_recorded(&run.settings);
    recorded.device_total = room.total;
    if let Some(reserved) = replayed(run, recorded.clone(), left) {
        return Placement::Fits { reserved, releases_cache: true };
    }
    let with = |setting: &'static str| {
        let settings = recorded.with_option(setting).ok().filter(|one| *one != recorded)?;
        let reserved = replayed(run, settings, left)?;
        Some(Placement::FitsWith { setting, reserved })
    };
    let mut tried = KNOWN_SETTINGS.iter().chain(SETTINGS).copied().filter(|one| !is_recent(one));
    tried.find_map(with).unwrap_or(Placement::Fragmented)
}

/// How many requests of a run are served in a room, under the settings that it was recorded with.
#[must_use]
pub fn served(run: &Run, room: Room) -> u64 {
    let mut settings = PyTorchSettings::from_recorded(&run.settings);
    settings.device_total = room.total;
    let mut device = SimulatedDevice::new(room.left());
    replay(&run.workload, &mut PyTorch::new(settings), &mut device).allocations
}

/// Returns true if not every PyTorch knows a setting: others would refuse to start with it.
fn is_recent(setting: &str) -> bool {
    AllocatorConf::parse(setting).is_ok_and(|conf| !doubtful_keys(None, &conf).is_empty())
}

/// The most that is reserved; nothing where the run fails.
fn replayed(run: &Run, settings: PyTorchSettings, left: u64) -> Option<u64> {
    let mut device = SimulatedDevice::new(left);
    let outcome = replay(&run.workload, &mut PyTorch::new(settings), &mut device);
    outcome.fits().then_some(outcome.peak_reserved)
}
