//! Idle devices that are alike: one line for all of them.

use whyoom_redact::visible;
use whyoom_trace::Bytes;

use crate::report::DeviceReport;

/// The devices to show, in their order. Idle ones that are alike are together, at the place of the first.
pub(crate) fn together(devices: &[DeviceReport]) -> Vec<Vec<&DeviceReport>> {
    let mut groups: Vec<Vec<&DeviceReport>> = Vec::new();
    for device in devices {
        let alike = groups.iter_mut().find(|group| group.iter().all(|one| are_alike(one, device)));
        match alike {
            Some(group) => group.push(device),
            None => groups.push(vec![device]),
        }
    }
    groups
}

/// Whether two devices are idle and nothing that is printed tells them apart.
fn are_alike(one: &DeviceReport, other: &DeviceReport) -> bool {
    is_idle(one)
        && is_idle(other)
        && one.device.name == other.device.name
        && free(one) == free(other)
}

/// Nobody holds memory, nobody may be hidden, and nothing runs.
fn is_idle(device: &DeviceReport) -> bool {
    device.holders.is_empty()
        && device.suspicions.is_empty()
        && device.device.processes.is_some()
        && device.device.utilization.is_none_or(|busy| busy.gpu == 0)
}

fn free(device: &DeviceReport) -> String {
    let memory = device.device.memory;
    format!("{} of {} free", Bytes(memory.free), Bytes(memory.total))
}

/// `GPU 0-3, 6`.
pub(crate) fn label(devices: &[&DeviceReport]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for index in devices.iter().map(|device| device.device.index) {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(index) => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    let word = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    format!("GPU {}", ranges.into_iter().map(word).collect::<Vec<_>>().join(", "))
}

/// What is said of all of them, behind their label.
pub(crate) fn answer(device: &DeviceReport) -> String {
    format!("idle, {} each ({}).", free(device), visible(&device.device.name))
}
