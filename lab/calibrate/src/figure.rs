//! The figures, and where the table has each.

use whyoom_lab_core::models::GpuModel;

/// What a figure counts, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Bits.
    Bits,
    /// Things.
    Count,
    /// Kilohertz.
    Kilohertz,
    /// Watts.
    Watts,
    /// A number that is written in hexadecimal.
    Identifier,
    /// A version: ten times the major one plus the minor one.
    Version,
}

/// One figure of the table; the names are those of [`GpuModel`]'s fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is documented at the field of its name")]
pub enum Figure {
    ComputeCapability,
    Multiprocessors,
    Total,
    NvmlTotal,
    Context,
    Granularity,
    Slab,
    SmallLimit,
    SmallUnit,
    PoolChunk,
    SharedPerBlockOptin,
    SharedPerMultiprocessor,
    ThreadsPerMultiprocessor,
    RegistersPerMultiprocessor,
    L2Bytes,
    BusWidthBits,
    MemoryClockKhz,
    ClockKhz,
    PowerLimitWatts,
    PciDevice,
}

type OfModel = fn(&GpuModel) -> u64;

/// Every figure with its name, unit and place in the table.
const TABLE: &[(Figure, &str, Unit, OfModel)] = {
    use Figure::*;
    &[
        (ComputeCapability, "compute_capability", Unit::Version, |model| {
            version(model.compute_capability.0.into(), model.compute_capability.1.into())
        }),
        (Multiprocessors, "multiprocessors", Unit::Count, |model| {
            model.multiprocessors.value.into()
        }),
        (Total, "total", Unit::Bytes, |model| model.total.value),
        (NvmlTotal, "nvml_total", Unit::Bytes, |model| model.nvml_total.value),
        (Context, "context", Unit::Bytes, |model| model.context.value),
        (Granularity, "granularity", Unit::Bytes, |model| model.granularity.value),
        (Slab, "slab", Unit::Bytes, |model| model.slab.value),
        (SmallLimit, "small_limit", Unit::Bytes, |model| model.small_limit.value),
        (SmallUnit, "small_unit", Unit::Bytes, |model| model.small_unit.value),
        (PoolChunk, "pool_chunk", Unit::Bytes, |model| model.pool_chunk.value),
        (SharedPerBlockOptin, "shared_per_block_optin", Unit::Bytes, |model| {
            model.shared_per_block_optin.value.into()
        }),
        (SharedPerMultiprocessor, "shared_per_multiprocessor", Unit::Bytes, |model| {
            model.shared_per_multiprocessor.value.into()
        }),
        (ThreadsPerMultiprocessor, "threads_per_multiprocessor", Unit::Count, |model| {
            model.threads_per_multiprocessor.value.into()
        }),
        (RegistersPerMultiprocessor, "registers_per_multiprocessor", Unit::Count, |model| {
            model.registers_per_multiprocessor.value.into()
        }),
        (L2Bytes, "l2_bytes", Unit::Bytes, |model| model.l2_bytes.value),
        (BusWidthBits, "bus_width_bits", Unit::Bits, |model| model.bus_width_bits.value.into()),
        (MemoryClockKhz, "memory_clock_khz", Unit::Kilohertz, |model| {
            model.memory_clock_khz.value.into()
        }),
        (ClockKhz, "clock_khz", Unit::Kilohertz, |model| model.clock_khz.value.into()),
        (PowerLimitWatts, "power_limit_watts", Unit::Watts, |model| {
            model.power_limit_watts.value.into()
        }),
        (PciDevice, "pci_device", Unit::Identifier, |model| model.pci_device.value.into()),
    ]
};

impl Figure {
    /// All of them, in the table's order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(figure, ..)| *figure)
    }

    fn entry(self) -> &'static (Self, &'static str, Unit, OfModel) {
        // The table lists the figures in their order; a test holds it to that.
        &TABLE[self as usize]
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// What it counts.
    #[must_use]
    pub fn unit(self) -> Unit {
        self.entry().2
    }

    /// What the table has for a model.
    #[must_use]
    pub fn of(self, model: &GpuModel) -> u64 {
        self.entry().3(model)
    }
}

/// A version as one number.
pub(crate) fn version(major: u64, minor: u64) -> u64 {
    major * 10 + minor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_at_its_own_place() {
        for (position, (figure, ..)) in TABLE.iter().enumerate() {
            assert_eq!(*figure as usize, position);
        }
        assert_eq!(Figure::PciDevice as usize + 1, TABLE.len());
    }
}
