//! The GPU models that the simulated device can be, each figure with where it comes from.
//!
//! No figure here was measured by this project: it owns no GPU. A figure is either printed in a
//! vendor document, seen in the output that somebody published from a real GPU, or assumed; its
//! [`Source`] says which, so that a number computed from it can be trusted as far as it deserves.

mod architecture;
mod datacenter;
mod desktop;
mod hbm3;
mod libraries;
mod sheet;
mod table;
#[cfg(test)]
mod tests;

pub use libraries::CODE_PARTS;
pub use table::MODELS;

/// The alias of the model that is simulated when nobody asks for another.
pub const DEFAULT: &str = "a100-80gb";

/// One number about a GPU, with its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure<T> {
    /// The number itself.
    pub value: T,
    /// Where the number comes from.
    pub source: Source,
}

/// Where a figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A vendor document or public registry says so; the text names it.
    Documented(&'static str),
    /// A real GPU reported it in published output; `owner/repository#number` is a GitHub thread.
    Observed(&'static str),
    /// Nobody is known to have published it: a guess, or a rule fitted to observations.
    Assumed,
}

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

/// The model of this name or alias; case, spaces, dashes and underscores do not matter.
pub fn find(name: &str) -> Option<&'static GpuModel> {
    let called = |known: &str| letters(known).eq(letters(name));
    MODELS.iter().find(|model| called(model.name) || model.aliases.iter().copied().any(called))
}

/// What remains of a name when the ways of writing it no longer matter.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase())
}
