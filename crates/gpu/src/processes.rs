//! The processes that the driver lists, from all of its lists.

use std::collections::BTreeMap;

use nvml_wrapper::{Device, enums::device::UsedGpuMemory, struct_wrappers::device::ProcessInfo};

use crate::{
    device::{ProcessKind, ProcessUse},
    raw,
};

/// The processes on a device, or on its parts where it is divided; `None` where no list is given.
pub(crate) fn of(device: &Device<'_>, parts: &[Device<'_>]) -> Option<Vec<ProcessUse>> {
    let lists = lists(device).into_iter().chain(parts.iter().flat_map(lists));
    let given: Vec<_> = lists.collect();
    (!given.is_empty()).then(|| merged(given.into_iter().flatten()))
}

/// The lists that the driver gives for this device.
fn lists(device: &Device<'_>) -> Vec<Vec<ProcessUse>> {
    [ProcessKind::Compute, ProcessKind::Graphics, ProcessKind::Mps]
        .into_iter()
        .filter_map(|kind| {
            let processes = raw::processes(device, kind).ok()?;
            Some(processes.iter().map(|process| process_use(process, kind)).collect())
        })
        .collect()
}

fn process_use(process: &ProcessInfo, kind: ProcessKind) -> ProcessUse {
    let bytes = match process.used_gpu_memory {
        // A context alone takes memory: in some containers NVML lists a process and does not know what it holds.
        UsedGpuMemory::Used(0) if kind != ProcessKind::Graphics => None,
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    };
    ProcessUse { pid: process.pid, bytes, kind }
}

/// One entry a process. A process in two lists has the same memory in both, not twice as much.
fn merged(processes: impl Iterator<Item = ProcessUse>) -> Vec<ProcessUse> {
    let mut by_pid: BTreeMap<u32, ProcessUse> = BTreeMap::new();
    for process in processes {
        let known = by_pid.entry(process.pid).or_insert(process);
        // Clients of MPS stand in the list of compute processes too: what is special is kept.
        if process.kind == ProcessKind::Mps {
            known.kind = ProcessKind::Mps;
        }
        known.bytes = known.bytes.max(process.bytes);
    }
    by_pid.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_held_is_not_known() {
        let used = |bytes, kind| {
            let used_gpu_memory = UsedGpuMemory::Used(bytes);
            let (gpu_instance_id, compute_instance_id) = (None, None);
            let info =
                ProcessInfo { pid: 7, used_gpu_memory, gpu_instance_id, compute_instance_id };
            process_use(&info, kind).bytes
        };
        assert_eq!(used(0, ProcessKind::Compute), None);
        assert_eq!(used(0, ProcessKind::Mps), None);
        assert_eq!(used(0, ProcessKind::Graphics), Some(0));
        assert_eq!(used(5, ProcessKind::Compute), Some(5));
    }

    #[test]
    fn a_process_in_two_lists_counts_once() {
        let entry = |pid, bytes, kind| ProcessUse { pid, bytes, kind };
        let lists = [
            entry(7, Some(10), ProcessKind::Compute),
            entry(3, None, ProcessKind::Compute),
            entry(7, Some(30), ProcessKind::Mps),
            entry(3, Some(5), ProcessKind::Graphics),
        ];
        let expected =
            [entry(3, Some(5), ProcessKind::Compute), entry(7, Some(30), ProcessKind::Mps)];
        assert_eq!(merged(lists.into_iter()), expected);
    }
}
