//! How much memory a device has, and how much of it is taken.

use nvml_wrapper::{Device, error::NvmlError};

use crate::{device::Memory, raw};

/// The memory of a device; of its parts together where only those may be asked.
pub(crate) fn of(device: &Device<'_>, parts: &[Device<'_>]) -> Result<Memory, NvmlError> {
    whole(device).or_else(|refusal| {
        parts.iter().filter_map(|part| whole(part).ok()).reduce(plus).ok_or(refusal)
    })
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
