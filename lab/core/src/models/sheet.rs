//! A model as it is written down: only what sets it apart, to be completed into a [`GpuModel`].

use super::architecture::Architecture;
use super::{Figure, GpuModel, Source};

/// The figures that differ from model to model.
pub(super) struct Sheet {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) architecture: Architecture,
    pub(super) total: Figure<u64>,
    pub(super) nvml_total: Figure<u64>,
    /// `None` where nobody published it: [`context_by_rule`] then stands in.
    pub(super) context: Option<Figure<u64>>,
    pub(super) chip: Chip,
    pub(super) clocks: Clocks,
    pub(super) watts: Figure<u32>,
    pub(super) pci_device: u32,
}

/// What the driver reports of the chip and its memory bus.
pub(super) struct Chip {
    pub(super) multiprocessors: Figure<u32>,
    pub(super) l2: Figure<u64>,
    pub(super) bus_bits: Figure<u32>,
}

/// Peak clocks in kHz.
pub(super) struct Clocks {
    pub(super) memory: Figure<u32>,
    pub(super) core: Figure<u32>,
}

impl Chip {
    /// Where one source gives all three.
    pub(super) const fn from(source: Source, multiprocessors: u32, l2: u64, bus_bits: u32) -> Self {
        Self {
            multiprocessors: Figure { value: multiprocessors, source },
            l2: Figure { value: l2, source },
            bus_bits: Figure { value: bus_bits, source },
        }
    }
}

impl Clocks {
    /// Where one source gives both, in MHz as it prints them.
    pub(super) const fn from(source: Source, memory_mhz: u32, core_mhz: u32) -> Self {
        Self {
            memory: Figure { value: memory_mhz * 1000, source },
            core: Figure { value: core_mhz * 1000, source },
        }
    }
}

impl Sheet {
    /// Adds what the architecture fixes and what is assumed of every driver.
    pub(super) const fn model(self) -> GpuModel {
        let Self { architecture, chip, clocks, .. } = self;
        let context = match self.context {
            Some(observed) => observed,
            None => assumed(context_by_rule(
                chip.multiprocessors.value,
                architecture.threads_per_multiprocessor.value,
            )),
        };
        GpuModel {
            name: self.name,
            aliases: self.aliases,
            compute_capability: architecture.compute_capability,
            multiprocessors: chip.multiprocessors,
            total: self.total,
            nvml_total: self.nvml_total,
            context,
            granularity: seen(
                mib(2),
                "GB200, asked for its minimum: fzyzcjy/torch_memory_saver#82",
            ),
            slab: assumed(mib(2)),
            small_limit: assumed(mib(1)),
            small_unit: assumed(512),
            pool_chunk: assumed(mib(32)),
            shared_per_block_optin: architecture.shared_per_block_optin,
            shared_per_multiprocessor: architecture.shared_per_multiprocessor,
            threads_per_multiprocessor: architecture.threads_per_multiprocessor,
            registers_per_multiprocessor: architecture.registers_per_multiprocessor,
            l2_bytes: chip.l2,
            bus_width_bits: chip.bus_bits,
            memory_clock_khz: clocks.memory,
            clock_khz: clocks.core,
            power_limit_watts: self.watts,
            pci_device: documented(self.pci_device, "pci.ids, github.com/pciutils/pciids"),
        }
    }
}

/// 2 KiB per thread that the chip can hold at once.
///
/// Published context sizes follow this within 15 MiB on six chips (GV100, GA100, GA102, AD102,
/// AD106, GB202) and within 20 MiB on TU104, whatever the memory size; on others it is a guess.
pub(super) const fn context_by_rule(multiprocessors: u32, threads: u32) -> u64 {
    multiprocessors as u64 * threads as u64 * 2048
}

pub(super) const fn mib(count: u64) -> u64 {
    count * 1024 * 1024
}

pub(super) const fn seen<T: Copy>(value: T, note: &'static str) -> Figure<T> {
    Figure { value, source: Source::Observed(note) }
}

pub(super) const fn documented<T: Copy>(value: T, document: &'static str) -> Figure<T> {
    Figure { value, source: Source::Documented(document) }
}

pub(super) const fn assumed<T: Copy>(value: T) -> Figure<T> {
    Figure { value, source: Source::Assumed }
}

/// A power limit as the product's own data sheet prints it.
pub(super) const fn datasheet(watts: u32) -> Figure<u32> {
    documented(watts, "the vendor's data sheet of the product")
}
