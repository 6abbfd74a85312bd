//! Memory in use that no listed process accounts for.

use whyoom_gpu::Device;

/// What is normal. The driver adds up a process's own allocations; page tables, channels and what it
/// keeps for a client are in use too and in nobody's sum. On healthy machines that is tens of MiB, and
/// a few hundreds with many clients.
pub(crate) const NORMAL: u64 = 512 << 20;
/// More for each process.
const NORMAL_PER_PROCESS: u64 = 32 << 20;
/// More where the driver does not tell what it keeps for itself, which then looks used: 300 to 700 MiB.
const UNTOLD_RESERVE: u64 = 1 << 30;

/// Used − reserved − the sum over listed processes.
pub(crate) fn of(device: &Device) -> u64 {
    if device.unified_memory {
        // What else is in use there is the host's own.
        return 0;
    }
    let listed = device.processes.as_deref().unwrap_or_default();
    let sum = listed.iter().filter_map(|process| process.bytes).fold(0, u64::saturating_add);
    let memory = device.memory;
    memory.used.saturating_sub(memory.reserved.unwrap_or_default()).saturating_sub(sum)
}

/// The largest residual that is normal on this device.
pub(crate) fn normal(device: &Device) -> u64 {
    let processes = device.processes.as_ref().map_or(0, Vec::len) as u64;
    let untold = if device.memory.reserved.is_some() { 0 } else { UNTOLD_RESERVE };
    NORMAL + untold + processes.saturating_mul(NORMAL_PER_PROCESS)
}

/// Whether the residual deserves a word. Where the driver does not say what a process holds, the sum
/// is not known and nothing follows.
pub(crate) fn is_suspicious(device: &Device) -> bool {
    let listed = device.processes.as_deref().unwrap_or_default();
    listed.iter().all(|process| process.bytes.is_some()) && of(device) > normal(device)
}
