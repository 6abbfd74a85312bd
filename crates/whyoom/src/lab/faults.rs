//! Faults on demand, as they are typed.

use std::{str::FromStr, time::Duration};

use anyhow::{Context, Error, Result, bail};
use whyoom_lab_core::machine::{Effect, KernelEffect};

use super::quantities::{duration, size};

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
}

impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Ok(match name {
            "fail" => Self::FailAllocation(
                value.parse().ok().filter(|n| *n > 0).context("fail=N counts from 1")?,
            ),
            "ecc" => Self::Ecc,
            "orphan" => Self::Orphan(size(value)?),
            "ghost" => Self::Ghost(size(value)?),
            "stuck" => Self::Stuck(size(value)?),
            "tenant" => {
                let (bytes, after) = value.split_once('@').unwrap_or((value, "0s"));
                Self::Tenant(size(bytes)?, duration(after)?)
            }
            "slow-sync" => Self::SlowSynchronize(duration(value)?),
            _ => bail!(
                "unknown fault '{name}'; use fail, ecc, orphan, ghost, stuck, tenant or slow-sync"
            ),
        })
    }
}

/// `NAME=heap-exhausted`, `NAME=fail`, `NAME=busy:50ms`.
pub(crate) fn kernel_effect(text: &str) -> Result<KernelEffect> {
    let (kernel, effect) = text.split_once('=').context("write NAME=EFFECT")?;
    if kernel.is_empty() {
        bail!("the kernel's name is missing");
    }
    let effect = match effect.split_once(':').unwrap_or((effect, "")) {
        ("heap-exhausted", _) => Effect::HeapExhausted,
        ("fail", _) => Effect::Fail,
        ("busy", time) => Effect::Busy(duration(time)?.as_nanos() as u64),
        _ => bail!("a kernel's effect is heap-exhausted, fail or busy:TIME"),
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
        for wrong in ["fail=0", "fail=x", "orphan", "tenant=3GiB@2", "gremlin"] {
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
