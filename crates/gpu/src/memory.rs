//! How much memory a device has, and how much of it is taken.

use std::fs;

use nvml_wrapper::{Device, error::NvmlError};

use crate::{device::Memory, raw};

/// What a device can use.
pub(crate) struct Usable {
    pub(crate) bytes: Memory,
    /// Whether it is the host's: the device has none of its own.
    pub(crate) is_host: bool,
}

/// The memory of a device; of its parts together where only those may be asked; the host's where it has none of its
/// own, which NVML answers with "not supported".
pub(crate) fn of(device: &Device<'_>, parts: &[Device<'_>]) -> Result<Usable, NvmlError> {
    let own = whole(device).or_else(|refusal| {
        parts.iter().filter_map(|part| whole(part).ok()).reduce(plus).ok_or(refusal)
    });
    match own {
        Ok(bytes) => Ok(Usable { bytes, is_host: false }),
        Err(NvmlError::NotSupported) => {
            let bytes = host().ok_or(NvmlError::NotSupported)?;
            Ok(Usable { bytes, is_host: true })
        }
        Err(refusal) => Err(refusal),
    }
}

fn whole(device: &Device<'_>) -> Result<Memory, NvmlError> {
    match device.memory_info() {
        Ok(info) => Ok(Memory {
            // The second version of this answer leaves `reserved` out of `used`, the first has it in:
            // what is not free is in use, whatever the version.
            used: info.total.saturating_sub(info.free),
            total: info.total,
            free: info.free,
            reserved: Some(info.reserved),
        }),
        Err(NvmlError::GpuLost) => Err(NvmlError::GpuLost),
        Err(_) => raw::memory_of_older_drivers(device),
    }
}

fn plus(sum: Memory, part: Memory) -> Memory {
    Memory {
        total: sum.total.saturating_add(part.total),
        free: sum.free.saturating_add(part.free),
        used: sum.used.saturating_add(part.used),
        reserved: sum.reserved.zip(part.reserved).map(|(sum, part)| sum.saturating_add(part)),
    }
}

/// The host's memory.
#[allow(clippy::disallowed_methods, reason = "the kernel's own file")]
fn host() -> Option<Memory> {
    host_of(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn host_of(meminfo: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    let (total, free) = (bytes("MemTotal:")?, bytes("MemAvailable:")?);
    Some(Memory { total, free, used: total.saturating_sub(free), reserved: Some(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_host() {
        let text = "MemTotal:       16384 kB\nMemFree:         1024 kB\nMemAvailable:    4096 kB\n";
        let memory = host_of(text).expect("both lines are there");
        assert_eq!((memory.total, memory.free, memory.used), (16 << 20, 4 << 20, 12 << 20));
        assert_eq!(host_of("MemTotal: 16384 kB\n"), None);
    }
}
