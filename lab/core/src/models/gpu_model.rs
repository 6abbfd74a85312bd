//! A GPU model.

use super::figure::Figure;

/// Everything the simulation has to know about one GPU model.
///
/// Sizes are in bytes. Driver versions move [`GpuModel::total`] by up to one percent; the value is
/// that of the newest driver for which one was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuModel {
    /// The name that the driver reports.
    pub name: &'static str,
    /// What people type instead of the name.
    pub aliases: &'static [&'static str],
    /// Compute capability, major and minor.
    pub compute_capability: (u8, u8),
    /// Number of streaming multiprocessors.
    pub multiprocessors: Figure<u32>,
    /// What `cuMemGetInfo` calls total.
    pub total: Figure<u64>,
    /// What NVML and `nvidia-smi` call total; the difference to `total` is held by the driver.
    pub nvml_total: Figure<u64>,
    /// Device memory that a process takes by only creating a context.
    pub context: Figure<u64>,
    /// Smallest unit that `cuMemGetAllocationGranularity` admits.
    pub granularity: Figure<u64>,
    /// Small allocations share slabs of this size.
    pub slab: Figure<u64>,
    /// Largest allocation that is placed in a slab.
    pub small_limit: Figure<u64>,
    /// Allocations within a slab are rounded up to this unit.
    pub small_unit: Figure<u64>,
    /// A stream-ordered memory pool grows by this much at a time.
    pub pool_chunk: Figure<u64>,
    /// Most shared memory that one block can opt in to.
    pub shared_per_block_optin: Figure<u32>,
    /// Shared memory of one multiprocessor.
    pub shared_per_multiprocessor: Figure<u32>,
    /// Most threads resident on one multiprocessor.
    pub threads_per_multiprocessor: Figure<u32>,
    /// 32-bit registers of one multiprocessor.
    pub registers_per_multiprocessor: Figure<u32>,
    /// Size of the level-two cache.
    pub l2_bytes: Figure<u64>,
    /// Width of the memory bus in bits.
    pub bus_width_bits: Figure<u32>,
    /// Peak memory clock in kHz.
    pub memory_clock_khz: Figure<u32>,
    /// Peak multiprocessor clock in kHz.
    pub clock_khz: Figure<u32>,
    /// Default power limit in watts.
    pub power_limit_watts: Figure<u32>,
    /// The 16-bit PCI device id; the vendor's is 0x10de for all models.
    pub pci_device: Figure<u32>,
}
