//! What a new machine is made of.

use super::{effects::KernelEffect, limits::MAX_BYTES, quirks::Quirks};
use crate::models::GpuModel;

/// What a new machine is made of.
#[derive(Clone, Debug, Default)]
pub struct MachineSpec {
    /// Its devices, in order.
    pub devices: Vec<DeviceSpec>,
    /// The allocation that fails, counted from 1 over the whole lab.
    pub fail_allocation: Option<u64>,
    /// How long each synchronize takes at least.
    pub synchronize_nanoseconds: u64,
    /// Kernels that do something.
    pub effects: Vec<KernelEffect>,
    /// Copies to a device beyond this length take no time and bring nothing there: nothing is computed
    /// with them. All of them do where it is absent.
    pub largest_kept_copy: Option<u64>,
    /// Whether every user of the computer may enter. Each of them can then change what the others hold,
    /// but crash or stop nobody.
    pub shared: bool,
    /// How it differs from a plain one.
    pub quirks: Quirks,
}

/// In which units a driver takes memory of a device, in bytes: as the model's table says, or as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// What a context alone takes.
    pub context: u64,
    /// The unit of physical memory.
    pub granularity: u64,
    /// What small allocations share.
    pub slab: u64,
    /// The largest allocation that is placed in a slab.
    pub small_limit: u64,
    /// What allocations in a slab are rounded up to.
    pub small_unit: u64,
    /// What a stream-ordered pool grows by.
    pub pool_chunk: u64,
}

impl Units {
    /// As the table says.
    #[must_use]
    pub fn of(model: &GpuModel) -> Self {
        Self {
            context: model.context.value,
            granularity: model.granularity.value,
            slab: model.slab.value,
            small_limit: model.small_limit.value,
            small_unit: model.small_unit.value,
            pool_chunk: model.pool_chunk.value,
        }
    }

    /// Whether a device can work with them: pages of the system are what it is made of.
    #[must_use]
    pub fn are_possible(&self) -> bool {
        const SYSTEM_PAGE: u64 = 4096;
        let in_pages = [self.granularity, self.slab, self.pool_chunk];
        let bounded = in_pages.iter().chain([&self.context]).all(|bytes| *bytes <= MAX_BYTES);
        bounded
            && in_pages.iter().all(|bytes| *bytes != 0 && bytes.is_multiple_of(SYSTEM_PAGE))
            && self.granularity.is_power_of_two()
            && self.small_unit.is_power_of_two()
            && self.small_unit <= self.slab
            && self.small_limit <= self.slab
    }
}

/// One device of a new machine.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSpec {
    /// Which GPU it is.
    pub model: &'static GpuModel,
    /// In which units its driver takes memory.
    pub units: Units,
    /// What the driver calls its total memory.
    pub total: u64,
    /// What NVML calls its total memory.
    pub nvml_total: u64,
    /// What can be taken of it. More than the total where programs should see the device as it is, but
    /// not run out.
    pub capacity: u64,
}

impl DeviceSpec {
    /// A device as its model says.
    #[must_use]
    pub fn of(model: &'static GpuModel) -> Self {
        let (total, nvml_total) = (model.total.value, model.nvml_total.value);
        Self { model, units: Units::of(model), total, nvml_total, capacity: total }
    }

    /// The same with another amount of memory; what the driver keeps for itself stays.
    #[must_use]
    pub fn with_total(self, total: u64) -> Self {
        let reserved = self.nvml_total - self.total;
        Self { total, nvml_total: total + reserved, capacity: total, ..self }
    }

    /// How fast it computes beside others: what CUDA counts devices by is not documented; this is assumed.
    #[must_use]
    pub fn speed(&self) -> u64 {
        u64::from(self.model.multiprocessors.value) * u64::from(self.model.clock_khz.value)
    }

    /// The same, but so much of it can be taken, whatever it says it has.
    #[must_use]
    pub fn with_capacity(self, capacity: u64) -> Self {
        Self { capacity, ..self }
    }
}
