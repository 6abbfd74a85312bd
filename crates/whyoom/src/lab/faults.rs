//! Faults on demand, as they are typed.

use std::{str::FromStr, time::Duration};

use anyhow::{Context, Error, Result, bail, ensure};
use whyoom_lab_core::machine::{Effect, KernelEffect, MAX_DEVICES, Quirks};

use crate::quantities::{duration, size};

/// Something that goes wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The allocation of this number fails, counted from 1 over the whole lab.
    FailAllocation(u64),
    /// Error correction takes its share of the memory.
    Ecc,
    /// A process whose parent has gone holds memory.
    Orphan(u64),
    /// A process that the operating system does not know holds memory.
    Ghost(u64),
    /// A process that sleeps uninterruptibly holds memory.
    Stuck(u64),
    /// Another process takes memory after a while.
    Tenant(u64, Duration),
    /// Every synchronize takes at least this long.
    SlowSynchronize(Duration),
    /// The system differs from a plain one.
    Quirk(Quirk),
}

/// One difference of a system from a plain one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quirk {
    NvmlWithoutUse,
    NvmlWithoutMemory,
    SlowNvml(Duration),
    LostGpu(usize),
    NoVirtualMemory,
    NoPeers,
    FailMappings(u64, u64),
    Granularity(u64),
    PageTables(u64),
    GraphNodes(u64),
    Mps,
    Mig,
}

impl Quirk {
    pub(crate) fn add_to(self, quirks: &mut Quirks) {
        match self {
            Self::NvmlWithoutUse => quirks.nvml_without_use = true,
            Self::NvmlWithoutMemory => quirks.nvml_without_memory = true,
            Self::SlowNvml(time) => quirks.nvml_nanoseconds = time.as_nanos() as u64,
            Self::LostGpu(index) => quirks.lost_device = Some(index),
            Self::NoVirtualMemory => quirks.no_virtual_memory = true,
            Self::NoPeers => quirks.no_peers = true,
            Self::FailMappings(first, last) => quirks.fail_mappings = Some((first, last)),
            Self::Granularity(bytes) => quirks.granularity = Some(bytes),
            Self::PageTables(bytes) => quirks.page_table_bytes = bytes,
            Self::GraphNodes(bytes) => quirks.graph_node_bytes = bytes,
            Self::Mps => quirks.mps = true,
            Self::Mig => quirks.mig = true,
        }
    }

    fn read(name: &str, value: &str) -> Result<Option<Self>> {
        Ok(Some(match name {
            "nvml-without-use" => Self::NvmlWithoutUse,
            "nvml-without-memory" => Self::NvmlWithoutMemory,
            "slow-nvml" => Self::SlowNvml(duration(value)?),
            "lost-gpu" => {
                let index = value.parse().ok().filter(|index| *index < MAX_DEVICES);
                Self::LostGpu(index.context("lost-gpu=N is the index of a GPU")?)
            }
            "no-virtual-memory" => Self::NoVirtualMemory,
            "no-peers" => Self::NoPeers,
            "fail-map" => {
                let (first, last) = value.split_once('-').unwrap_or((value, value));
                let (first, last) = (counted_from_1(name, first)?, counted_from_1(name, last)?);
                ensure!(first <= last, "fail-map=N-M begins with the smaller number");
                Self::FailMappings(first, last)
            }
            "granularity" => {
                let bytes = Some(size(value)?).filter(|bytes| bytes.is_power_of_two());
                Self::Granularity(bytes.context("granularity=SIZE is a power of two")?)
            }
            "page-tables" => Self::PageTables(size(value)?),
            "graph-nodes" => Self::GraphNodes(size(value)?),
            "mps" => Self::Mps,
            "mig" => Self::Mig,
            _ => return Ok(None),
        }))
    }
}

fn counted_from_1(name: &str, value: &str) -> Result<u64> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.with_context(|| format!("{name}=N counts from 1"))
}

impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Ok(match name {
            "fail" => Self::FailAllocation(counted_from_1(name, value)?),
            "ecc" => Self::Ecc,
            "orphan" => Self::Orphan(size(value)?),
            "ghost" => Self::Ghost(size(value)?),
            "stuck" => Self::Stuck(size(value)?),
            "tenant" => {
                let (bytes, after) = value.split_once('@').unwrap_or((value, "0s"));
                Self::Tenant(size(bytes)?, duration(after)?)
            }
            "slow-sync" => Self::SlowSynchronize(duration(value)?),
            _ => match Quirk::read(name, value)? {
                Some(quirk) => Self::Quirk(quirk),
                None => bail!("unknown fault '{name}'; whyoom lab run --help lists them"),
            },
        })
    }
}

/// `NAME=heap-exhausted`, `NAME=fail`, `NAME=busy:50ms`, `NAME=touch:50ms`.
pub(crate) fn kernel_effect(text: &str) -> Result<KernelEffect> {
    let (kernel, effect) = text.split_once('=').context("write NAME=EFFECT")?;
    if kernel.is_empty() {
        bail!("the kernel's name is missing");
    }
    let effect = match effect.split_once(':').unwrap_or((effect, "")) {
        ("heap-exhausted", _) => Effect::HeapExhausted,
        ("fail", _) => Effect::Fail,
        ("busy", time) => Effect::Busy(duration(time)?.as_nanos() as u64),
        ("touch", time) => Effect::Touch(duration(time)?.as_nanos() as u64),
        _ => bail!("a kernel's effect is heap-exhausted, fail, busy:TIME or touch:TIME"),
    };
    Ok(KernelEffect { kernel: kernel.to_owned(), effect })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_as_people_type_them() {
        let read = |text: &str| text.parse::<Fault>().ok();
        assert_eq!(read("fail=100"), Some(Fault::FailAllocation(100)));
        assert_eq!(read("tenant=3GiB@2s"), Some(Fault::Tenant(3 << 30, Duration::from_secs(2))));
        assert_eq!(read("ecc"), Some(Fault::Ecc));
        assert_eq!(read("lost-gpu=3"), Some(Fault::Quirk(Quirk::LostGpu(3))));
        assert_eq!(read("graph-nodes=2MiB"), Some(Fault::Quirk(Quirk::GraphNodes(2 << 20))));
        assert_eq!(read("granularity=64KiB"), Some(Fault::Quirk(Quirk::Granularity(64 << 10))));
        for wrong in [
            "lost-gpu=99",
            "granularity=3MiB",
            "fail-map=0",
            "slow-nvml",
            "fail=0",
            "fail=x",
            "orphan",
            "tenant=3GiB@2",
            "gremlin",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn effects_as_people_type_them() {
        let effect = |text| kernel_effect(text).map(|known| known.effect).ok();
        assert_eq!(effect("a=heap-exhausted"), Some(Effect::HeapExhausted));
        assert_eq!(effect("a=busy:2ms"), Some(Effect::Busy(2_000_000)));
        assert_eq!(effect("=fail"), None);
        assert_eq!(effect("a=dance"), None);
    }
}
